import type { JsonObject } from '#core';
import { emptyAnswer } from './chat/chat-answer.ts';
import { ModelFailure } from './failure.ts';
import type { ModelNeeds } from './model-list.ts';
import type { ModelCaller } from './model-queue.ts';
import { type StreamedAnswer, streamAnswer } from './streamed-answer.ts';
import { type Turn, atTurn } from './turn.ts';

export type CompletionRequest = {
  readonly model: string;
  readonly system: string | undefined;
  readonly prompt: string;
  /** JSON schema that the answer must match. */
  readonly format?: JsonObject;
  /** Ollama's model options (temperature, num_ctx ...), and `think`, which is off by default. */
  readonly options: Readonly<Record<string, number | string | boolean>>;
  /**
   * Maximum time in ms without a token. For the first token, the time counts from the call's turn in the queue, and is
   * longer for a long prompt, or while Ollama may still process prompts of abandoned calls.
   */
  readonly firstTokenMs: number;
  /** Name of the setting that `firstTokenMs` comes from, for error messages. */
  readonly firstTokenSetting?: string;
  /** Timeout of the whole call in ms, including the time in the queue. */
  readonly totalMs: number;
  /** Undefined for the hub's own calls: they share the queue with clients, and the breaker ignores their failures. */
  readonly caller?: ModelCaller;
  /**
   * Called with each new piece of text. If a model does not mark the start of its thoughts, they are passed here, too,
   * but the result does not contain them.
   */
  readonly progress?: (text: string) => void;
};

export type ModelAnswer = {
  /** Text without thoughts, trimmed; never empty. */
  readonly text: string;
  /** Name of the model as Ollama lists it. */
  readonly model: string;
  readonly digest: string;
  readonly tookMs: number;
  /** Number of tokens of the prompt; undefined if Ollama does not report it, for example for a cached prompt. */
  readonly promptTokens: number | undefined;
  readonly outputTokens: number | undefined;
};

/** Requests a completion at the call's turn in the queue, and reads the whole answer. Rejects with ModelFailure. */
export async function complete(
  request: CompletionRequest,
  signal: AbortSignal,
  needs: ModelNeeds,
): Promise<ModelAnswer> {
  const startedMs = needs.clock.monotonic();
  const call = { ...request, contextTokens: request.options['num_ctx'] };
  const {
    name: model,
    digest,
    answer,
  } = await atTurn(call, signal, needs, async (turn, limit) => ({
    ...turn,
    answer: await ask(request, turn, limit, needs),
  }));
  requireUsable(answer, model);
  const { text, promptTokens, outputTokens } = answer;
  const tookMs = needs.clock.monotonic() - startedMs;
  needs.counts.succeeded(model, promptTokens, outputTokens, request.caller);
  return { text, promptTokens, outputTokens, model, digest, tookMs };
}

function ask(request: CompletionRequest, turn: Turn, signal: AbortSignal, needs: ModelNeeds) {
  const { system, prompt, format, options, caller, progress } = request;
  const { firstTokenMs: silentMs, firstTokenSetting: setting } = request;
  const { think = false, ...rest } = options;
  const body = {
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: prompt },
    ],
    ...(format ? { format } : {}),
    options: rest,
    think,
  };
  const length = prompt.length + (system?.length ?? 0);
  return streamAnswer({ turn, body, length, silentMs, setting, caller, progress }, signal, needs);
}

/** Throws ModelFailure if an answer was cut off, is empty or has only thoughts. For the breaker, the call succeeded. */
function requireUsable({ text, isThoughtOnly, isCut }: StreamedAnswer, model: string): void {
  if (isThoughtOnly || (text === '' && !isCut)) throw emptyAnswer(model, isThoughtOnly);
  if (isCut)
    throw new ModelFailure(
      'cut',
      `${model} was cut off at the limit of its tokens. Raise num_predict or num_ctx`,
      { model },
    );
}
