import { isObject } from '#core';
import type { Caller, Client } from './call.ts';
import { ModelFailure } from './failure.ts';
import type { Listing } from './listing.ts';
import { isSameModel } from './names.ts';

/** Where a text stands among others. */
export type Embedding = {
  /** Of length 1. */
  readonly vector: Float32Array;
  /** Of the model: vectors of two models say nothing of each other. */
  readonly digest: string;
};

/** Including the time to load the model, which is a small one. */
const totalMs = 10_000;
/** A shorter text fits into every model's context: the smallest in use is 512 tokens. */
const surelyFitsLength = 512;
/** Marks of beginning and end are tokens too. */
const markTokens = 2;

/** The vector of a text. Rejects with ModelFailure; `too_long` where not all of the text would count. */
export async function embed(
  modelName: string,
  text: string,
  signal: AbortSignal,
  needs: {
    readonly caller: Pick<Caller, 'call'>;
    readonly listing: Pick<Listing, 'get' | 'loaded'>;
    readonly keepAlive: string | number;
  },
): Promise<Embedding> {
  const { name: model, digest } = await needs.listing.get(modelName, signal);
  const vector = await needs.caller.call(
    {
      subject: model,
      model,
      isStream: false,
      silentMs: undefined,
      totalMs,
      isGated: true,
      async run(client) {
        const body = { model, input: text, truncate: false, keep_alive: needs.keepAlive };
        const answer = await client.embed(body);
        if (text.length > surelyFitsLength) await needWhole(answer, model, client);
        return parseVector(answer, model);
      },
    },
    signal,
  );
  needs.listing.loaded(model);
  return { vector, digest };
}

/** Some versions (0.12.5) cut what is too long although told not to: then as many tokens count as fit. */
async function needWhole(answer: unknown, model: string, client: Client): Promise<void> {
  const tokens = isObject(answer) ? answer['prompt_eval_count'] : undefined;
  const running = await client.ps();
  const models = isObject(running) ? running['models'] : undefined;
  if (typeof tokens !== 'number' || !Array.isArray(models)) return;
  const own = models
    .filter(isObject)
    .find(({ name }) => typeof name === 'string' && isSameModel(name, model));
  const window = own?.['context_length'];
  if (typeof window === 'number' && window > 0 && tokens >= window - markTokens)
    throw new ModelFailure(
      'too_long',
      `the text fills the ${window} tokens of ${model}. Shorten it`,
      {
        model,
      },
    );
}

function parseVector(answer: unknown, model: string): Float32Array {
  const embeddings = isObject(answer) ? answer['embeddings'] : undefined;
  const first: unknown = Array.isArray(embeddings) ? embeddings[0] : undefined;
  if (!Array.isArray(first) || first.length === 0)
    throw new ModelFailure('empty', `${model} gave no vector`, { model });
  const vector = Float32Array.from(first, Number);
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  // A text of nothing but unknown words may be no direction at all.
  if (!Number.isFinite(length) || length === 0)
    throw new ModelFailure('malformed', `${model} gave a vector without a direction`, { model });
  return vector.map(value => value / length);
}
