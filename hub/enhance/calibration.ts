import { setImmediate as nextTurn } from 'node:timers/promises';
import { cacheKey } from '#cache';
import { type Clock, type Log, backoffMs, messageOf, sleep, tryParseJson } from '#core';
import type { Models } from '#models';
import type { Table } from '#store';
import { compareGuarded } from './guards.ts';
import { embeddedText } from './semantic-entry.ts';
import shippedPairs from './assets/calibration-pairs.json' with { type: 'json' };

export type CalibrationPair = {
  readonly a: string;
  readonly b: string;
  /**
   * `same`: the same request. `trap`: similar words, but another request. `unrelated`: other requests about the same
   * subject, which must always be below the threshold.
   */
  readonly kind: 'same' | 'trap' | 'unrelated';
};

type Options = {
  readonly embeddingModel: string;
  readonly pairs?: readonly CalibrationPair[];
  readonly compare?: typeof compareGuarded;
};

type Needs = {
  readonly models: Pick<Models, 'embed'>;
  /** Stores the similarities of the pairs, by embedding model and version of the pairs and guards. */
  readonly table: Pick<Table, 'find' | 'put'>;
  /** Returns true while a model is used by prompts. */
  readonly isBusy: () => boolean;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
};

/** Version of the rule for the threshold. Change it if `resultOf` changes. */
const version = '1';
type State = {
  readonly digest: string;
  /** Key of the stored similarities: a hash of the model's digest and of the texts of the compared pairs. */
  key: string;
  /** The pairs whose similarity matters. The guards alone decide about all other pairs. */
  readonly compared: CalibrationPair[];
  /** Similarities of the pairs compared so far, in the order of `compared`. */
  readonly similarities: number[];
};

/** Pause before each pair, in ms. */
const pauseMs = 200;
/** Maximum number of further pauses while models are busy with prompts, which is one minute. */
const maxYields = 300;
const backoff = { firstMs: 5_000, maxMs: 300_000, jitter: 0 } as const;
/** Number of pairs after which the similarities are saved, so that a hub that was killed can continue. */
const pairsPerSave = 8;
/** Distance of the threshold above the highest similarity of a wrong pair, as a share of the distance to 1. */
const margin = 0.1;

/**
 * Calibrates the threshold of an embedding model: the lowest one at which no wrong pair of the shipped pairs passes
 * both the guards and the threshold, plus a margin. Embeds the pairs in the background, one text at a time, while no
 * prompt needs a model.
 */
export function createCalibration(options: Options, { models, table, isBusy, clock, log }: Needs) {
  const { embeddingModel, compare = compareGuarded } = options;
  const { pairs = shippedPairs.filter(isPair) } = options;
  const ended = new AbortController();
  const { signal } = ended;
  let current: { readonly state: State; readonly loaded: Promise<void> } | undefined;

  const isCurrent = (state: State) => current?.state === state && !signal.aborted;

  function begin(digest: string) {
    const state: State = { digest, key: '', compared: [], similarities: [] };
    return { state, loaded: load(state) };
  }

  /** Chooses the pairs whose similarity matters, and starts to compare those that were not compared yet. */
  async function load(state: State): Promise<void> {
    for (const pair of pairs) {
      if (pair.kind === 'unrelated' || compare(pair.a, pair.b).verdict === 'alike')
        state.compared.push(pair);
      await nextTurn();
    }
    const texts = state.compared.flatMap(({ a, b }) =>
      [a, b].map(prompt => embeddedText(embeddingModel, prompt)),
    );
    state.key = cacheKey(['threshold', version, state.digest, ...texts]);
    state.similarities.push(...parseNumbers(await table.find(state.key)));
    void run(state);
  }

  /** Embeds the remaining pairs. Stops if the model changes. */
  async function run(state: State): Promise<void> {
    const { compared, similarities, key } = state;
    if (isDone(state)) return;
    for (let [failures, yields] = [0, 0]; isCurrent(state) && !isDone(state);) {
      const isRetry = failures > 0 && yields === 0;
      const waitMs = isRetry ? backoffMs(backoff, failures, () => 0) : pauseMs;
      await sleep(waitMs, { clock, signal });
      const pair = compared[similarities.length];
      if (!isCurrent(state) || !pair) return;
      if (isBusy() && yields++ < maxYields) continue;
      yields = 0;
      try {
        const similarity = await similarityOf(pair, state);
        if (similarity === undefined) {
          // The name now belongs to another model. The next call starts its calibration, unless it has started already.
          if (isCurrent(state)) current = undefined;
          return;
        }
        similarities.push(similarity);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (++failures === 1)
          log.info(
            { model: embeddingModel, error: messageOf(error) },
            'the calibration of the semantic cache waits: it continues when the embedding model answers',
          );
      }
      if (similarities.length % pairsPerSave === 0 || isDone(state))
        await table.put(key, JSON.stringify(similarities));
    }
    if (isCurrent(state))
      log.info(
        { model: embeddingModel, ...resultOf(state) },
        'the semantic cache has a threshold for this embedding model, and returns results now',
      );
  }

  /** Returns the cosine similarity of a pair; undefined if the name now belongs to another model. */
  async function similarityOf(
    { a, b }: CalibrationPair,
    { digest }: State,
  ): Promise<number | undefined> {
    const embed = (prompt: string) =>
      models.embed(embeddingModel, embeddedText(embeddingModel, prompt), signal);
    const [left, right] = [await embed(a), await embed(b)];
    if (left.digest !== digest || right.digest !== digest) return undefined;
    return left.vector.reduce((sum, value, at) => sum + value * (right.vector[at] ?? 0), 0);
  }

  return {
    /** Resolves with the threshold for a model; undefined until it is calibrated. The first call starts this. */
    async thresholdOf(digest: string): Promise<number | undefined> {
      if (current?.state.digest !== digest) current = begin(digest);
      const { state, loaded } = current;
      await loaded;
      return isDone(state) ? resultOf(state).threshold : undefined;
    },
    /** Progress and result of the calibration. `of` is the number of pairs to compare; 0 before the first use. */
    get stats() {
      if (!current) return { compared: 0, of: 0 };
      const { state } = current;
      const counts = { compared: state.similarities.length, of: state.compared.length };
      return { ...counts, ...(isDone(state) && resultOf(state)) };
    },
    stop: () => ended.abort(),
  };
}

const isPair = (pair: {
  readonly a: string;
  readonly b: string;
  readonly kind: string;
}): pair is CalibrationPair => ['same', 'trap', 'unrelated'].includes(pair.kind);

const isDone = ({ compared, similarities }: State): boolean =>
  compared.length > 0 && similarities.length >= compared.length;

/** Returns the threshold, and how many (`found`) of the pairs with the same meaning (`same`) are above it. */
function resultOf({ compared, similarities }: State) {
  const of = (isSame: boolean) =>
    similarities.filter((_, at) => (compared[at]?.kind === 'same') === isSame);
  const highest = Math.max(0, ...of(false));
  const threshold = Number((highest + margin * (1 - highest)).toFixed(3));
  return {
    threshold,
    found: of(true).filter(similarity => similarity > threshold).length,
    same: of(true).length,
  };
}

function parseNumbers(text: string | undefined): number[] {
  const value = tryParseJson(text ?? '');
  return Array.isArray(value) && value.every(item => typeof item === 'number') ? value : [];
}
