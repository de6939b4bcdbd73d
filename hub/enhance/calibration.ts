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
  /** `unrelated`: two requests about the same subject, which no threshold may let through. */
  readonly kind: 'same' | 'trap' | 'unrelated';
};

type Options = {
  readonly embeddingModel: string;
  readonly pairs?: readonly CalibrationPair[];
  readonly compare?: typeof compareGuarded;
};

type Needs = {
  readonly models: Pick<Models, 'embed'>;
  /** Holds the similarities of the pairs by embedding model and version of the pairs and guards. */
  readonly table: Pick<Table, 'find' | 'put'>;
  /** Whether a model works on something else. */
  readonly isBusy: () => boolean;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
};

/** Changes with the rule for the threshold below. */
const version = '1';
/** Pause before each pair, in ms. */
const pauseMs = 200;
/** Maximum number of further pauses while models are busy with prompts: one minute. */
const maxYields = 300;
const backoff = { firstMs: 5_000, maxMs: 300_000, jitter: 0 } as const;
/** The similarities are saved after so many pairs: a hub that was killed continues there. */
const pairsPerSave = 8;
/** Part of the distance from the highest wrong similarity to 1 that the threshold stays above it. */
const margin = 0.1;

/**
 * Finds the threshold of an embedding model: the lowest one at which the guards together with it let no wrong pair of
 * the shipped ones through, plus a margin. Embeds the pairs in the background, one text at a time, while no prompt needs
 * a model.
 */
export function createCalibration(options: Options, { models, table, isBusy, clock, log }: Needs) {
  const { embeddingModel, compare = compareGuarded } = options;
  const { pairs = shippedPairs.filter(isPair) } = options;
  const ended = new AbortController();
  const { signal } = ended;
  let current: Awaited<ReturnType<typeof load>> | undefined;
  let loading: { readonly digest: string; readonly loaded: ReturnType<typeof load> } | undefined;

  /** The similarities that are known of a model. Guards decide about the other pairs by themselves. */
  async function load(digest: string) {
    const compared = pairs.filter(
      ({ a, b, kind }) => kind === 'unrelated' || compare(a, b).verdict === 'alike',
    );
    const texts = compared.flatMap(({ a, b }) =>
      [a, b].map(prompt => embeddedText(embeddingModel, prompt)),
    );
    const key = cacheKey(['threshold', version, digest, ...texts]);
    return { digest, key, compared, similarities: parseNumbers(await table.find(key)) };
  }
  type State = Awaited<ReturnType<typeof load>>;

  const isCurrent = (state: State) => current === state && !signal.aborted;
  const isDone = ({ compared, similarities }: State) => similarities.length >= compared.length;

  /** Embeds the pairs that are left. Ends early if the model changes. */
  async function run(state: State): Promise<void> {
    const { compared, similarities, key } = state;
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
        if (similarity === undefined) return;
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

  /** The cosine similarity of a pair; undefined if another model has the name now. */
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
    /** The threshold for vectors of a model; undefined until the calibration, which begins with the first call, is done. */
    async thresholdOf(digest: string): Promise<number | undefined> {
      if (loading?.digest !== digest) loading = { digest, loaded: load(digest) };
      const state = await loading.loaded;
      if (loading.digest === digest && current !== state) {
        current = state;
        void run(state);
      }
      return isDone(state) ? resultOf(state).threshold : undefined;
    },
    /** `of`: the pairs to compare; 0 before the first use. */
    get stats() {
      const [compared, of] = [current?.similarities.length ?? 0, current?.compared.length ?? 0];
      return { compared, of, ...(current && isDone(current) && resultOf(current)) };
    },
    stop: () => ended.abort(),
  };
}

const isPair = (pair: {
  readonly a: string;
  readonly b: string;
  readonly kind: string;
}): pair is CalibrationPair => ['same', 'trap', 'unrelated'].includes(pair.kind);

/** The threshold, and how many of the pairs with the same meaning it lets through. */
function resultOf({
  compared,
  similarities,
}: {
  readonly compared: readonly CalibrationPair[];
  readonly similarities: readonly number[];
}) {
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
