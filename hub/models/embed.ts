import { isObject } from '#core';
import { ModelFailure } from './failure.ts';
import { contextInMemory } from './held-context.ts';
import type { ModelNeeds } from './model-list.ts';
import { type OllamaClient, keepAlive } from './ollama-call.ts';
import { atTurn } from './turn.ts';

export type Embedding = {
  /** Embedding of the text, normalized to length 1. */
  readonly vector: Float32Array;
  /** Digest of the model. Vectors of different models are not comparable. */
  readonly digest: string;
};

/** Timeout in ms, including the time in the queue and the time to load the model, which is small. */
const totalMs = 10_000;
/** Length in characters up to which a text fits into the context of every model: the smallest in use has 512 tokens. */
const surelyFitsLength = 512;
/** Number of tokens that mark the beginning and end of a text. */
const markTokens = 2;

/** Embeds a text. Rejects with ModelFailure, of kind `too_long` if the text exceeds the context of the model. */
export async function embed(
  modelName: string,
  text: string,
  signal: AbortSignal,
  needs: ModelNeeds,
): Promise<Embedding> {
  return await atTurn({ model: modelName, totalMs }, signal, needs, async (turn, limit) => {
    const { name: model, digest } = turn;
    const run = async (client: OllamaClient) => {
      const body = { model, input: text, truncate: false, keep_alive: keepAlive };
      const answer: unknown = await client.embed(body);
      const { embeddings, prompt_eval_count: count } = isObject(answer) ? answer : {};
      const tokens = typeof count === 'number' ? count : 0;
      if (text.length > surelyFitsLength) await requireUncut(tokens, model, client);
      return { vector: parseVector(embeddings, model), tokens };
    };
    const call = { subject: model, model, isGated: true, run };
    const { vector, tokens } = await needs.callOllama(call, limit);
    needs.counts.succeeded(model, tokens);
    return { vector, digest };
  });
}

/**
 * Rejects with `too_long` if the tokens fill the context: some Ollama versions (0.12.5) cut long texts despite
 * `truncate: false`.
 */
async function requireUncut(tokens: number, model: string, client: OllamaClient): Promise<void> {
  const window = await contextInMemory(client, model);
  if (window !== undefined && tokens > 0 && tokens >= window - markTokens)
    throw new ModelFailure(
      'too_long',
      `the text fills the ${window} tokens of ${model}. Shorten it`,
      { model },
    );
}

function parseVector(embeddings: unknown, model: string): Float32Array {
  const first: unknown = Array.isArray(embeddings) ? embeddings[0] : undefined;
  if (!Array.isArray(first) || first.length === 0)
    throw new ModelFailure('empty', `${model} gave no vector`, { model });
  const vector = Float32Array.from(first, Number);
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  // A text of only unknown words may have a zero vector.
  if (!Number.isFinite(length) || length === 0)
    throw new ModelFailure('malformed', `${model} gave a zero vector`, { model });
  return vector.map(value => value / length);
}
