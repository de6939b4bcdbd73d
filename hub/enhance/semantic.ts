import { type Clock, type Log, messageOf } from '#core';
import type { Models } from '#models';
import type { Table } from '#store';
import type { Vectors } from '#vectors';
import { createCalibration } from './calibration.ts';
import { type Comparison, compareGuarded } from './guards.ts';
import type { Judge } from './judge.ts';
import { type Label, createJudgements } from './judgements.ts';
import {
  type Candidate,
  type EmbeddedPrompt,
  type SemanticEntry,
  createPromptEmbedder,
  entryOf,
  pointOf,
  whyNoValue,
  whyUnfit,
} from './semantic-entry.ts';

/**
 * Condition for returning the result of another prompt. `guarded`: the guards find that both mean the same, where
 * necessary together with a similarity above the threshold. `verified`: the guards are certain, or the judge has
 * approved the pair. `threshold`: the prompts are similar enough and no guard objects. `shadow`: never returned, but
 * the hits of `guarded` are counted.
 */
export type SemanticMode = 'off' | 'shadow' | 'guarded' | 'verified' | 'threshold';

/** Minimum similarity of candidates, and where it comes from. */
export type Threshold = {
  /** Minimum cosine similarity; undefined until the embedding model is calibrated. */
  readonly value: number | undefined;
  readonly from: 'rule' | 'CACHE_SIMILARITY_THRESHOLD' | 'calibration' | 'default';
};

export type Lookup = {
  /** Key of everything that a result depends on except the prompt: client, rule, model digest, system prompt. */
  readonly scope: string;
  readonly mode: SemanticMode;
  /** Undefined: the calibrated threshold, or the default one in the modes `verified` and `threshold`. */
  readonly threshold?: Threshold | undefined;
};

type NearPrompt = Pick<Candidate, 'similarity' | 'ageMs'> & { readonly prompt: string };

type SemanticFound =
  | (NearPrompt & {
      readonly kind: 'hit';
      readonly value: string;
      readonly why: string;
      /** True if the hit is only counted and not returned. */
      readonly isShadow: boolean;
    })
  /** `similarity`: of the most similar candidate; undefined if there was none. */
  | { readonly kind: 'miss'; readonly similarity?: number; readonly why: string };

/** A cached prompt that is similar to the given one, with the verdict of the guards. */
export type Nearby = NearPrompt &
  Comparison & {
    /** Answer of the judge about this pair or another pair of its class; undefined if there is none. */
    readonly label: Label | undefined;
  };

export type SemanticCache = ReturnType<typeof createSemanticCache>;

export type SemanticOptions = {
  readonly embeddingModel: string;
  /** Maximum length in characters of cached prompts. Long prompts are rarely repeated in other words. */
  readonly maxPromptLength?: number;
  /** Function that compares two prompts with the guards. */
  readonly compare?: typeof compareGuarded;
};

type Needs = {
  readonly models: Pick<Models, 'embed' | 'metrics'>;
  readonly vectors: Pick<Vectors, 'near' | 'put' | 'removeTag' | 'stats'>;
  /** Undefined if only the guards decide. */
  readonly judge: Judge | undefined;
  /** Stored thresholds of embedding models, and stored answers of the judge. */
  readonly tables: { readonly thresholds: Table; readonly judgements: Table };
  readonly clock: Clock;
  readonly log: Log;
};

/** Maximum number of pairs that wait for the judge. */
const maxWaiting = 32;
const maxPerScope = 10_000;
/** Maximum number of candidates that one look-up compares. */
const maxCandidates = 5;
/** Threshold of the modes that are not calibrated. Also used to find candidates until the calibration is complete. */
const defaultThreshold = 0.85;
/** Distance below the threshold to which an explanation includes entries. */
const explainedBelow = 0.25;

/** Creates the semantic cache. Does no I/O. */
export function createSemanticCache(options: SemanticOptions, needs: Needs) {
  const { embeddingModel, maxPromptLength = 6_000, compare = compareGuarded } = options;
  const { models, vectors, judge, tables, clock, log } = needs;
  const embed = createPromptEmbedder(embeddingModel, needs);
  const isBusy = () => models.metrics().queues.some(({ active, waiting }) => active + waiting > 0);
  const background = { isBusy, clock, log };
  const calibration = createCalibration(options, {
    ...background,
    models,
    table: tables.thresholds,
  });
  const judgements = createJudgements(
    { maxWaiting },
    { ...background, judge, table: tables.judgements },
  );
  /** `shadowHits`: hits that were not returned, in mode `shadow` or before the calibration was complete. */
  const counts = { hits: 0, misses: 0, shadowHits: 0, stored: 0, errors: 0 };

  const thresholdOf = async (lookup: Lookup, digest: string): Promise<Threshold> =>
    givenThreshold(lookup) ?? {
      value: await calibration.thresholdOf(digest),
      from: 'calibration',
    };

  async function candidates(
    prompt: string,
    { collection, vector, scope }: EmbeddedPrompt,
    minScore: number,
    signal: AbortSignal,
  ): Promise<readonly Candidate[]> {
    const bounds = { scope, limit: maxCandidates, minScore };
    const near = await vectors.near(collection, vector, bounds, signal);
    return near.flatMap(point => {
      const entry = entryOf(point);
      if (!entry) return [];
      const ageMs = Math.max(0, clock.now() - entry.createdAt);
      return [{ entry, similarity: point.score, ageMs, ...compare(prompt, entry.prompt) }];
    });
  }

  async function look(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<SemanticFound> {
    const embedded = await embed(prompt, lookup.scope, signal);
    const { value: threshold } = await thresholdOf(lookup, embedded.digest);
    const all = await candidates(prompt, embedded, threshold ?? defaultThreshold, signal);
    const [nearest] = all;
    if (!nearest) return { kind: 'miss', why: 'no cached prompt is similar enough' };
    const { similarity } = nearest;
    const same = all.find(({ verdict }) => verdict === 'same');
    if (same) return hitOf(same, same.why, lookup.mode === 'shadow');
    const isShadow = lookup.mode === 'shadow' || threshold === undefined;
    let open: Candidate | undefined;
    for (const candidate of all.filter(({ verdict }) => verdict !== 'different')) {
      const label = await judgements.labelOf(candidate.entry.prompt, prompt);
      if (label === 'same') return hitOf(candidate, 'judged to mean the same', isShadow);
      if (label === 'different') continue;
      if (isServed(candidate, lookup.mode)) return hitOf(candidate, candidate.why, isShadow);
      open ??= candidate;
    }
    if (!open) {
      const why = nearest.verdict === 'different' ? nearest.why : 'judged to differ';
      return { kind: 'miss', similarity, why };
    }
    await judgements.judgeLater(open.entry.prompt, prompt);
    return {
      kind: 'miss',
      similarity,
      why: `${open.why}: ${judge ? 'not judged yet' : 'there is no judge'}`,
    };
  }

  /** Counts a failure and returns its message. Throws the reason of an aborted signal. */
  function failed(error: unknown, signal: AbortSignal): string {
    signal.throwIfAborted();
    counts.errors++;
    log.debug({ error: messageOf(error) }, 'the semantic cache failed');
    return messageOf(error);
  }

  return {
    /** Looks for the result of a similar prompt. A failure is a miss. Rejects only with the reason of `signal`. */
    async find(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<SemanticFound> {
      signal.throwIfAborted();
      const refused = lookup.mode === 'off' ? 'switched off' : whyUnfit(prompt, maxPromptLength);
      if (refused !== undefined) return { kind: 'miss', why: refused };
      try {
        const found = await look(prompt, lookup, signal);
        if (found.kind === 'miss') counts.misses++;
        else if (!found.isShadow) counts.hits++;
        else {
          counts.shadowHits++;
          return { kind: 'miss', similarity: found.similarity, why: `shadow: ${found.why}` };
        }
        return found;
      } catch (error) {
        return { kind: 'miss', why: failed(error, signal) };
      }
    },
    /**
     * Stores a complete result of the scope's model. Resolves with the reason if it was not stored. Rejects only with
     * the reason of `signal`.
     */
    async store(
      { prompt, value }: Pick<SemanticEntry, 'prompt' | 'value'>,
      {
        scope,
        tag,
        ttlMs,
      }: { readonly scope: string; readonly tag: string; readonly ttlMs: number },
      signal: AbortSignal,
    ): Promise<string | undefined> {
      signal.throwIfAborted();
      const refused = whyUnfit(prompt, maxPromptLength) ?? whyNoValue(value);
      if (refused !== undefined) return refused;
      try {
        const embedded = await embed(prompt, scope, signal);
        const createdAt = clock.now();
        const expiresAt = Math.round(createdAt + ttlMs);
        const entry = { prompt, value, tag, createdAt, expiresAt };
        const bounds = { scope: embedded.scope, maxPerScope };
        await vectors.put(embedded.collection, pointOf(entry, embedded), bounds, signal);
      } catch (error) {
        return failed(error, signal);
      }
      counts.stored++;
      return undefined;
    },
    /**
     * Resolves with the threshold in force and the most similar entries in descending order, including some below the
     * threshold. Rejects with the errors of models and vectors.
     */
    async explain(
      prompt: string,
      lookup: Lookup,
      signal: AbortSignal,
    ): Promise<{ readonly threshold: Threshold; readonly entries: readonly Nearby[] }> {
      const embedded = await embed(prompt, lookup.scope, signal);
      const threshold = await thresholdOf(lookup, embedded.digest);
      const minScore = (threshold.value ?? defaultThreshold) - explainedBelow;
      const entries: Nearby[] = [];
      for (const candidate of await candidates(prompt, embedded, minScore, signal)) {
        const { entry, ...compared } = candidate;
        const label = await judgements.labelOf(entry.prompt, prompt);
        entries.push({ ...compared, prompt: entry.prompt, label });
      }
      return { threshold, entries };
    },
    /** Removes the results of a tag, or all results; resolves with their number. */
    async forget(tag?: string): Promise<number> {
      await judgements.forget();
      return await vectors.removeTag(tag);
    },
    /** Returns the threshold of a look-up, without starting the calibration. */
    thresholdOf: (lookup: Omit<Lookup, 'scope'>): Threshold =>
      givenThreshold(lookup) ?? { value: calibration.stats.threshold, from: 'calibration' },
    /** Statistics since the hub started. `errors` are calls in which a model or the index failed. */
    stats: async () => ({
      ...counts,
      ...judgements.stats,
      model: embeddingModel,
      calibration: calibration.stats,
      judge: judge?.model,
      vectors: await vectors.stats(),
    }),
    stop(): void {
      calibration.stop();
      judgements.stop();
    },
  };
}

/** Returns the threshold of a look-up if it needs no calibration; otherwise undefined. */
function givenThreshold({ mode, threshold }: Omit<Lookup, 'scope'>): Threshold | undefined {
  const isCalibrated = mode === 'guarded' || mode === 'shadow';
  return threshold ?? (isCalibrated ? undefined : { value: defaultThreshold, from: 'default' });
}

/** True if a candidate above the threshold is returned without a judge. */
const isServed = ({ verdict }: Candidate, mode: SemanticMode): boolean =>
  mode === 'threshold' || (mode !== 'verified' && verdict === 'alike');

function hitOf(
  { entry: { value, prompt }, similarity, ageMs }: Candidate,
  why: string,
  isShadow: boolean,
): SemanticFound {
  return { kind: 'hit', value, prompt, similarity, ageMs, why, isShadow };
}
