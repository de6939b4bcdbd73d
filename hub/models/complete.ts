import { type JsonObject, createAbortScope, durationText, isObject } from '#core';
import { ModelFailure } from './failure.ts';
import type { ModelNeeds } from './model-list.ts';
import type { OllamaClient } from './ollama-call.ts';
import { createThoughtFilter } from './thinking.ts';

export type CompletionRequest = {
  readonly model: string;
  readonly system: string | undefined;
  readonly prompt: string;
  /** A JSON schema for the answer. */
  readonly format?: JsonObject;
  /** Ollama's model options (temperature, num_ctx ...), and `think`, which is off by default. */
  readonly options: Readonly<Record<string, number | string | boolean>>;
  /** Idle timeout in ms, before the first token and between tokens. */
  readonly firstTokenMs: number;
  /** Timeout of the whole call in ms. */
  readonly totalMs: number;
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

/** Requests a completion and reads the whole answer. Rejects with ModelFailure. */
export async function complete(
  request: CompletionRequest,
  signal: AbortSignal,
  { clock, callOllama, modelList, keepAlive, counts }: ModelNeeds,
): Promise<ModelAnswer> {
  const startedMs = clock.monotonic();
  const { totalMs, firstTokenMs } = request;
  const late = `${request.model} was not done within ${durationText(totalMs)}`;
  using limit = createAbortScope([signal], {
    clock,
    limitMs: totalMs,
    reason: () => new ModelFailure('timeout', late, request),
  });
  const { name: model, digest } = await modelList.get(request.model, limit.signal);
  const call = { subject: model, model, isStream: true, silentMs: firstTokenMs, isGated: true };
  const run = async (client: OllamaClient, heard: () => void) => {
    const sentMs = clock.monotonic();
    let isFirst = true;
    const hear = () => {
      if (isFirst) counts.firstToken(model, clock.monotonic() - sentMs);
      isFirst = false;
      heard();
    };
    const lines = await client.chat(bodyOf(request, model, keepAlive));
    return await readAnswer(lines, hear, request.progress);
  };
  const answer = await callOllama({ ...call, run }, limit.signal).catch((error: unknown) => {
    if (error instanceof ModelFailure && error.kind === 'missing') modelList.invalidate();
    throw error;
  });
  modelList.markLoaded(model);
  requireUsable(answer, model);
  const { text, promptTokens, outputTokens } = answer;
  const tookMs = clock.monotonic() - startedMs;
  counts.succeeded(model, promptTokens, outputTokens);
  return { text, promptTokens, outputTokens, model, digest, tookMs };
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
  return {
    text,
    isThoughtOnly: text === '' && (hasThoughts || hasThinkingField),
    isCut: last['done_reason'] === 'length',
    promptTokens: countIn('prompt_eval_count'),
    outputTokens: countIn('eval_count'),
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
