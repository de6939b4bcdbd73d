import { type JsonObject, isObject } from '#core';
import { ModelFailure } from './failure.ts';
import type { ModelNeeds } from './model-list.ts';
import type { ModelCaller } from './model-queue.ts';
import type { OllamaClient } from './ollama-call.ts';
import { createThoughtFilter } from './thinking.ts';
import { type Turn, atTurn } from './turn.ts';

export type CompletionRequest = {
  readonly model: string;
  readonly system: string | undefined;
  readonly prompt: string;
  /** A JSON schema for the answer. */
  readonly format?: JsonObject;
  /** Ollama's model options (temperature, num_ctx ...), and `think`, which is off by default. */
  readonly options: Readonly<Record<string, number | string | boolean>>;
  /**
   * Idle timeout in ms between tokens, and before the first one from the call's turn in the queue. Before the first
   * token it is longer for a long prompt, and while Ollama may work on prompts that were given up.
   */
  readonly firstTokenMs: number;
  /** Timeout of the whole call in ms, including the time in the queue. */
  readonly totalMs: number;
  /** Undefined for the hub's own calls: they take turns with the clients, and the breaker ignores their failures. */
  readonly caller?: ModelCaller;
  /**
   * Called with each new piece of text. If a model does not mark the start of its thoughts, they appear here
   * but not in the result.
   */
  readonly progress?: (text: string) => void;
};

export type ModelAnswer = {
  /** The text without thoughts, trimmed; never empty. */
  readonly text: string;
  /** The model's name as Ollama lists it. */
  readonly model: string;
  readonly digest: string;
  readonly tookMs: number;
  /** Undefined if Ollama does not report it, for example for a cached prompt. */
  readonly promptTokens: number | undefined;
  readonly outputTokens: number | undefined;
};

/** Maximum length of an answer in characters. */
const maxTextLength = 1_000_000;

/** Requests a completion, at its turn in the queue, and reads the whole answer. Rejects with ModelFailure. */
export async function complete(
  request: CompletionRequest,
  signal: AbortSignal,
  needs: ModelNeeds,
): Promise<ModelAnswer> {
  const startedMs = needs.clock.monotonic();
  const {
    name: model,
    digest,
    answer,
  } = await atTurn(request, signal, needs, async (turn, limit) => ({
    ...turn,
    answer: await ask(request, turn, limit, needs),
  }));
  requireUsable(answer, model);
  const { text, promptTokens, outputTokens } = answer;
  const tookMs = needs.clock.monotonic() - startedMs;
  needs.counts.succeeded(model, promptTokens, outputTokens);
  return { text, promptTokens, outputTokens, model, digest, tookMs };
}

async function ask(
  request: CompletionRequest,
  { name: model, isSwitch }: Turn,
  signal: AbortSignal,
  { clock, callOllama, modelList, queue, paces, keepAlive, counts }: ModelNeeds,
) {
  const { firstTokenMs: silentMs, caller } = request;
  const length = request.prompt.length + (request.system?.length ?? 0);
  const firstMs = paces.patienceMs(model, length, silentMs, isSwitch);
  const sentMs = clock.monotonic();
  let isFirst = true;
  const run = async (client: OllamaClient, heard: () => void) => {
    const hear = () => {
      heard();
      if (!isFirst) return;
      isFirst = false;
      paces.heard(model);
      counts.firstToken(model, clock.monotonic() - sentMs);
    };
    const lines = await client.chat(bodyOf(request, model, keepAlive));
    const answer = await readAnswer(lines, hear, request.progress);
    paces.answered(model, clock.monotonic() - sentMs, answer);
    return answer;
  };
  const call = { subject: model, model, isStream: true, isGated: true, silentMs, firstMs, caller };
  try {
    return await callOllama({ ...call, run }, signal);
  } catch (error) {
    const kind = error instanceof ModelFailure ? error.kind : undefined;
    if (kind === 'missing') modelList.invalidate();
    if (kind === 'busy') queue.lower(model);
    if (isFirst && (kind === 'timeout' || kind === 'cancelled'))
      paces.abandoned(model, length, clock.monotonic() - sentMs);
    throw error;
  }
}

function bodyOf(
  { system, prompt, format, options }: CompletionRequest,
  model: string,
  keepAlive: string | number,
) {
  const { think = false, ...rest } = options;
  return {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: prompt },
    ],
    ...(format ? { format } : {}),
    options: rest,
    think,
    keep_alive: keepAlive,
    // Otherwise Ollama silently drops the beginning of a text that does not fit.
    truncate: false,
    shift: false,
    stream: true as const,
  };
}

async function readAnswer(
  lines: AsyncIterable<unknown>,
  heard: () => void,
  progress: CompletionRequest['progress'],
) {
  const filter = createThoughtFilter();
  let length = 0;
  let hasThinkingField = false;
  let last: { readonly [key: string]: unknown } = {};
  for await (const line of lines) {
    last = isObject(line) ? line : {};
    const message = isObject(last['message']) ? last['message'] : {};
    const content = typeof message['content'] === 'string' ? message['content'] : '';
    if (message['thinking']) hasThinkingField = true;
    if (content !== '' || message['thinking']) heard();
    length += content.length;
    if (length > maxTextLength)
      throw new ModelFailure('cut', `the answer has more than ${maxTextLength} characters`);
    const piece = filter.push(content);
    if (piece !== '') progress?.(piece);
  }
  const { text, hasThoughts } = filter.end();
  const countIn = (key: string) => (typeof last[key] === 'number' ? last[key] : undefined);
  const msIn = (key: string) => (countIn(key) ?? 0) / 1e6;
  return {
    text,
    isThoughtOnly: text === '' && (hasThoughts || hasThinkingField),
    isCut: last['done_reason'] === 'length',
    promptTokens: countIn('prompt_eval_count'),
    outputTokens: countIn('eval_count'),
    promptMs: msIn('prompt_eval_duration'),
    loadMs: msIn('load_duration'),
  };
}

/** Throws ModelFailure if a whole answer is of no use. The call itself succeeded. */
function requireUsable(
  { text, isThoughtOnly, isCut }: Awaited<ReturnType<typeof readAnswer>>,
  model: string,
): void {
  if (isThoughtOnly)
    throw new ModelFailure('thinking_only', `${model} answered with thoughts only`, { model });
  if (isCut)
    throw new ModelFailure(
      'cut',
      `${model} was cut off at the limit of its tokens. Raise num_predict or num_ctx`,
      { model },
    );
  if (text === '') throw new ModelFailure('empty', `${model} gave an empty answer`, { model });
}
