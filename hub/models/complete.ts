import { type Clock, type JsonObject, isObject } from '#core';
import type { Caller } from './call.ts';
import { ModelFailure } from './failure.ts';
import { createLimit } from './limit.ts';
import type { Listing, ModelInfo } from './listing.ts';
import { createThoughtFilter } from './thinking.ts';

/** What a model is asked. */
export type CompletionRequest = {
  readonly model: string;
  readonly system: string | undefined;
  readonly prompt: string;
  /** The JSON schema that the answer is to follow. */
  readonly format?: JsonObject;
  /** Ollama's options of a model (temperature, num_ctx ...); besides, `think`, which is off unless given. */
  readonly options: Readonly<Record<string, number | string | boolean>>;
  /** The longest silence, before the first token and between two, in milliseconds. */
  readonly firstTokenMs: number;
  /** For the whole, in milliseconds. */
  readonly totalMs: number;
  /**
   * Called with each further piece of the text. Where a model does not say where its thought begins, that
   * shows here, and is not in the result.
   */
  readonly progress?: (text: string) => void;
};

/** What a model has answered, whole. */
export type Completion = {
  /** Without thoughts, and without white space around it; never empty. */
  readonly text: string;
  /** As Ollama lists it. */
  readonly model: string;
  readonly digest: string;
  readonly tookMs: number;
  /** Undefined where Ollama did not say, as for a prompt that it had kept. */
  readonly promptTokens: number | undefined;
  readonly outputTokens: number | undefined;
};

/** An answer of more characters is none to a prompt. */
const maxTextLength = 1_000_000;

export type CompleteNeeds = {
  readonly clock: Clock;
  readonly caller: Pick<Caller, 'call'>;
  readonly listing: Pick<Listing, 'get' | 'loaded' | 'forget'>;
  readonly keepAlive: string | number;
};

/** Asks a model and reads all it answers. Rejects with ModelFailure. */
export async function complete(
  request: CompletionRequest,
  signal: AbortSignal,
  needs: CompleteNeeds,
): Promise<Completion> {
  const { clock, caller, listing } = needs;
  const startedMs = clock.monotonic();
  const { totalMs } = request;
  using limit = createLimit([signal], {
    clock,
    ms: totalMs,
    late: () =>
      new ModelFailure(
        'timeout',
        `${request.model} was not done within ${totalMs / 1000} s`,
        request,
      ),
  });
  const model = await listing.get(request.model, limit.signal);
  const answer = await caller
    .call(
      {
        subject: model.name,
        model: model.name,
        isStream: true,
        silentMs: request.firstTokenMs,
        totalMs: undefined,
        isGated: true,
        run: async (client, heard) =>
          await readAnswer(
            await client.chat(bodyOf(request, model, needs.keepAlive)),
            heard,
            request,
          ),
      },
      limit.signal,
    )
    .catch((error: unknown) => {
      if (error instanceof ModelFailure && error.kind === 'missing') listing.forget();
      throw error;
    });
  listing.loaded(model.name);
  const text = needText(answer, model.name);
  return {
    text,
    model: model.name,
    digest: model.digest,
    tookMs: clock.monotonic() - startedMs,
    promptTokens: answer.promptTokens,
    outputTokens: answer.outputTokens,
  };
}

function bodyOf(
  { system, prompt, format, options }: CompletionRequest,
  model: ModelInfo,
  keepAlive: string | number,
) {
  const { think = false, ...rest } = options;
  return {
    model: model.name,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: prompt },
    ],
    ...(format ? { format } : {}),
    options: rest,
    think,
    keep_alive: keepAlive,
    // Ollama would drop the beginning of what does not fit, without a word.
    truncate: false,
    shift: false,
    stream: true as const,
  };
}

type Answer = {
  readonly text: string;
  readonly hasThoughts: boolean;
  readonly doneReason: unknown;
  readonly promptTokens: number | undefined;
  readonly outputTokens: number | undefined;
};

async function readAnswer(
  lines: AsyncIterable<unknown>,
  heard: () => void,
  { progress }: Pick<CompletionRequest, 'progress'>,
): Promise<Answer> {
  const filter = createThoughtFilter();
  let length = 0;
  let hasThinking = false;
  let last: Line = {};
  for await (const line of lines) {
    last = isObject(line) ? line : {};
    const message = isObject(last['message']) ? last['message'] : {};
    const content = typeof message['content'] === 'string' ? message['content'] : '';
    if (message['thinking']) hasThinking = true;
    if (content !== '' || message['thinking']) heard();
    length += content.length;
    if (length > maxTextLength)
      throw new ModelFailure('cut', `the answer has more than ${maxTextLength} characters`);
    const piece = filter.push(content);
    if (piece !== '') progress?.(piece);
  }
  const { text, hasThoughts } = filter.end();
  return {
    text,
    hasThoughts: hasThoughts || hasThinking,
    doneReason: last['done_reason'],
    promptTokens: countIn(last, 'prompt_eval_count'),
    outputTokens: countIn(last, 'eval_count'),
  };
}

type Line = { readonly [key: string]: unknown };

const countIn = (line: Line, key: string): number | undefined => {
  const value = line[key];
  return typeof value === 'number' ? value : undefined;
};

function needText({ text, hasThoughts, doneReason }: Answer, model: string): string {
  if (text === '' && hasThoughts)
    throw new ModelFailure('thinking_only', `${model} thought and answered nothing`, { model });
  if (doneReason === 'length')
    throw new ModelFailure(
      'cut',
      `${model} was cut off at the limit of its tokens. Raise num_predict or num_ctx`,
      { model },
    );
  if (text === '') throw new ModelFailure('empty', `${model} answered nothing`, { model });
  return text;
}
