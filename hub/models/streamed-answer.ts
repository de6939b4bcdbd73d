import { isObject } from '#core';
import { tokenCountOf } from './chat/chat-types.ts';
import { ModelFailure } from './failure.ts';
import { whyHeld } from './held-context.ts';
import type { ModelNeeds } from './model-list.ts';
import type { ModelCaller } from './model-queue.ts';
import { type OllamaChat, type OllamaClient, chatFields } from './ollama-call.ts';
import { createThoughtFilter } from './thinking.ts';
import type { Turn } from './turn.ts';

type StreamedCall = {
  readonly turn: Turn;
  readonly body: Pick<OllamaChat, 'messages' | 'options'>;
  /** Length of the whole input of the model, in characters. */
  readonly length: number;
  /**
   * Maximum time in ms without a token. For the first token, the time counts from the call's turn in the queue, and is
   * longer for a long prompt, or while Ollama may still process prompts of abandoned calls.
   */
  readonly silentMs: number;
  /** Name of the setting that `silentMs` comes from, for error messages. */
  readonly setting?: string | undefined;
  readonly caller: ModelCaller | undefined;
  readonly progress: ((text: string) => void) | undefined;
};

export type StreamedAnswer = Awaited<ReturnType<typeof readAnswer>>;

/** Maximum length of an answer in characters. */
const maxTextLength = 1_000_000;

/** Calls /api/chat for a call that has its turn in the queue, and reads the whole stream. Rejects with ModelFailure. */
export async function streamAnswer(
  { turn, body, length, silentMs, setting, caller, progress }: StreamedCall,
  signal: AbortSignal,
  { clock, callOllama, paces, counts }: ModelNeeds,
): Promise<StreamedAnswer> {
  const { name: model, isSwitch } = turn;
  const firstMs = paces.patienceMs(model, length, silentMs, isSwitch);
  const sentMs = clock.monotonic();
  // Without `truncate: false`, Ollama silently drops the beginning of a prompt that exceeds the context.
  const usual = { ...chatFields, truncate: false };
  /** True while Ollama may be processing the prompt: it was sent, and no token has been received. */
  let isReading = false;
  const run = async (client: OllamaClient, heard: () => void) => {
    isReading = true;
    const hear = () => {
      heard();
      if (!isReading) return;
      isReading = false;
      paces.heard(model);
      counts.firstToken(model, clock.monotonic() - sentMs);
    };
    const lines = await client.chat({ model, ...body, ...usual });
    const answer = await readAnswer(lines, hear, progress);
    paces.answered(model, clock.monotonic() - sentMs, answer);
    return answer;
  };
  const call = { subject: model, model, isStream: true, isGated: true, silentMs, firstMs, caller };
  try {
    return await callOllama({ ...call, run }, signal);
  } catch (error) {
    const failure = error instanceof ModelFailure ? error : undefined;
    if (isReading && (failure?.kind === 'timeout' || failure?.kind === 'cancelled'))
      paces.abandoned(model, length, clock.monotonic() - sentMs);
    if (failure?.kind !== 'timeout' || signal.aborted) throw error;
    const held = { model, options: body.options };
    const why = isReading ? await whyHeld(held, signal, callOllama) : undefined;
    if (why === undefined && setting === undefined) throw error;
    const hint = why === undefined ? `. Raise ${setting}` : `: ${why}`;
    throw new ModelFailure('timeout', failure.message + hint, { model, cause: error });
  }
}

async function readAnswer(
  lines: AsyncIterable<unknown>,
  heard: () => void,
  progress: StreamedCall['progress'],
) {
  const filter = createThoughtFilter();
  let length = 0;
  let hasThinkingField = false;
  const toolCalls: unknown[] = [];
  let last: { readonly [key: string]: unknown } = {};
  for await (const line of lines) {
    last = isObject(line) ? line : {};
    const message = isObject(last['message']) ? last['message'] : {};
    const content = typeof message['content'] === 'string' ? message['content'] : '';
    const calls: readonly unknown[] = Array.isArray(message['tool_calls'])
      ? message['tool_calls']
      : [];
    if (message['thinking']) hasThinkingField = true;
    if (content !== '' || message['thinking'] || calls.length > 0) heard();
    length += content.length + (calls.length > 0 ? JSON.stringify(calls).length : 0);
    if (length > maxTextLength)
      throw new ModelFailure('cut', `the answer has more than ${maxTextLength} characters`);
    for (const call of calls) toolCalls.push(call);
    const piece = filter.push(content);
    if (piece !== '') progress?.(piece);
  }
  const { text, hasThoughts } = filter.end();
  const msIn = (key: string) => (tokenCountOf(last[key]) ?? 0) / 1e6;
  return {
    text,
    toolCalls,
    isThoughtOnly: text === '' && (hasThoughts || hasThinkingField),
    isCut: last['done_reason'] === 'length',
    promptTokens: tokenCountOf(last['prompt_eval_count']),
    outputTokens: tokenCountOf(last['eval_count']),
    promptMs: msIn('prompt_eval_duration'),
    loadMs: msIn('load_duration'),
    /** Length of the text and the calls, in characters. */
    length,
  };
}
