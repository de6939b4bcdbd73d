import { type Clock, type Log, messageOf } from '#core';
import type { Models } from '#models';
import type { Vectors, VectorsStats } from '#vectors';
import { type Comparison, compareGuarded } from './guards.ts';
import type { Judge } from './judge.ts';
import { holdsSecret } from './secrets.ts';
import { type Candidate, candidateOf, pointOf } from './semantic-entry.ts';
import type { Label } from './semantic-labels.ts';
import { type Place, createPlaces } from './semantic-place.ts';
import { type SemanticCounts, createSemanticCounts } from './semantic-counts.ts';
import { createVerifier } from './semantic-verify.ts';

/**
 * When what was kept for another prompt is given. `verified`: when the guards say the two are the same, or a
 * judge does. `threshold`: when they are alike enough and no guard objects. `shadow`: never, it is only counted.
 */
export type SemanticMode = 'off' | 'shadow' | 'verified' | 'threshold';

/** Within what a prompt may be found. */
export type Lookup = {
  /** A key of all that the result depends on but the prompt: client, rule, model with digest, system prompt. */
  readonly scope: string;
  readonly mode: SemanticMode;
  /** Candidates have a cosine above it. */
  readonly threshold: number;
};

export type SemanticFound =
  | {
      readonly kind: 'hit';
      readonly value: string;
      /** The prompt that it was made for. */
      readonly prompt: string;
      readonly similarity: number;
      readonly ageMs: number;
      readonly why: string;
    }
  /** `similarity` is that of the nearest candidate, where there was one. */
  | { readonly kind: 'miss'; readonly similarity?: number; readonly why: string };

/** A kept prompt that lies near, and what the guards say of it. */
export type Nearby = Comparison & {
  readonly prompt: string;
  readonly similarity: number;
  readonly ageMs: number;
  /** What the judge has said of the two. */
  readonly label: Label | undefined;
};

export type SemanticStats = SemanticCounts & {
  readonly model: string;
  readonly judge: string | undefined;
  /** Pairs that wait for the judge. */
  readonly waiting: number;
  /** Pairs that it was not asked about, because enough waited. */
  readonly refused: number;
  readonly labels: number;
  readonly vectors: VectorsStats;
};

/** Results of prompts, found by prompts that mean the same. Out of reach it is a miss, and says why. */
export interface SemanticCache {
  /** Rejects with the reason of `signal`, and for nothing else. */
  find(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<SemanticFound>;
  /**
   * Keeps a result that is worth keeping: whole, and by the model of the scope. Resolves with why it was not
   * kept, undefined where it was. Rejects with the reason of `signal`, and for nothing else.
   */
  store(
    entry: { readonly prompt: string; readonly value: string },
    bounds: { readonly scope: string; readonly tag: string; readonly ttlMs: number },
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** The nearest entries, also below the threshold, the nearest first. Rejects as models and vectors do. */
  explain(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<readonly Nearby[]>;
  /** Forgets the results of a tag, or all; resolves with how many. */
  forget(tag?: string): Promise<number>;
  stats(): Promise<SemanticStats>;
  /** Ends judgements under way. */
  stop(): void;
}

export type SemanticOptions = {
  readonly embeddingModel: string;
  readonly maxPerScope?: number;
  /** Longer prompts have no part in this: what is long is seldom asked in other words. */
  readonly maxPromptLength?: number;
  /** Pairs that may wait for the judge. */
  readonly maxWaiting?: number;
};

type Needs = {
  readonly models: Pick<Models, 'embed'>;
  readonly vectors: Pick<Vectors, 'near' | 'put' | 'removeTag' | 'stats'>;
  /** Undefined: only what the guards are sure of is given. */
  readonly judge: Judge | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/** Candidates that are compared. */
const maxCandidates = 5;
/** Enough for a prompt whose lines are all of one kind. */
const maxValueLength = 64_000;
/** How far below the threshold entries are explained. */
const explainedBelow = 0.25;

/** Construction reaches nothing. */
export function createSemanticCache(options: SemanticOptions, needs: Needs): SemanticCache {
  const {
    embeddingModel,
    maxPerScope = 10_000,
    maxPromptLength = 6_000,
    maxWaiting = 32,
  } = options;
  const { models, vectors, judge, clock, log } = needs;
  const places = createPlaces({ embeddingModel }, { models, clock });
  const counts = createSemanticCounts();
  const verifier = createVerifier(
    { maxPerScope, maxWaiting },
    { vectors, judge, counts, clock, log },
  );

  async function candidates(
    prompt: string,
    place: Place,
    { limit, minScore }: { readonly limit: number; readonly minScore: number },
    signal: AbortSignal,
  ): Promise<readonly Candidate[]> {
    const { collection, vector, scope } = place;
    const near = await vectors.near(collection, vector, { scope, limit, minScore }, signal);
    return near.flatMap(point => {
      const kept = candidateOf(point, clock.now());
      return kept ? [{ ...kept, ...compareGuarded(prompt, kept.prompt) }] : [];
    });
  }

  async function look(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<SemanticFound> {
    const place = await places.find(prompt, lookup.scope, signal);
    const bounds = { limit: maxCandidates, minScore: lookup.threshold };
    const all = await candidates(prompt, place, bounds, signal);
    const [nearest] = all;
    if (!nearest) return { kind: 'miss', why: 'nothing kept is alike enough' };
    const { similarity } = nearest;
    const same = all.find(({ verdict }) => verdict === 'same');
    if (same) return hitOf(same, same.why);
    // From one name of an entry to the next the meaning may drift: only the prompt itself is judged.
    const open = all.find(
      one =>
        one.verdict === 'unsure' &&
        !one.entry.isAlias &&
        verifier.labelOf({ prompt, candidate: one, place }) !== 'different',
    );
    if (!open) {
      const why = nearest.verdict === 'different' ? nearest.why : 'judged to differ';
      return { kind: 'miss', similarity, why };
    }
    if (lookup.mode === 'threshold') return hitOf(open, 'alike enough');
    const answer = await verifier.verify(
      { prompt, candidate: open, place },
      { isAwaited: lookup.mode === 'verified' },
      signal,
    );
    if (answer === 'same') return hitOf(open, 'judged to mean the same');
    if (answer === 'different') return { kind: 'miss', similarity, why: 'judged to differ' };
    return { kind: 'miss', similarity, why: judge ? 'not judged yet' : 'there is no judge' };
  }

  return {
    async find(prompt, lookup, signal) {
      signal.throwIfAborted();
      const refused = lookup.mode === 'off' ? 'switched off' : whyUnfit(prompt, maxPromptLength);
      if (refused !== undefined) return { kind: 'miss', why: refused };
      let found: SemanticFound;
      try {
        found = await look(prompt, lookup, signal);
      } catch (error) {
        signal.throwIfAborted();
        counts.failed();
        log.debug({ error: messageOf(error) }, 'the semantic cache was passed over');
        return { kind: 'miss', why: messageOf(error) };
      }
      const isShadow = lookup.mode === 'shadow';
      counts.found(found.kind, { isShadow });
      if (found.kind === 'miss' || !isShadow) return found;
      return { kind: 'miss', similarity: found.similarity, why: `shadow: ${found.why}` };
    },
    async store({ prompt, value }, { scope, tag, ttlMs }, signal) {
      signal.throwIfAborted();
      const refused = whyUnfit(prompt, maxPromptLength) ?? whyNoValue(value);
      if (refused !== undefined) return refused;
      try {
        const place = await places.find(prompt, scope, signal);
        const now = clock.now();
        const entry = {
          prompt,
          value,
          tag,
          createdAt: now,
          expiresAt: Math.round(now + ttlMs),
          isAlias: false,
        };
        const point = pointOf(entry, place);
        await vectors.put(place.collection, point, { scope: place.scope, maxPerScope }, signal);
      } catch (error) {
        signal.throwIfAborted();
        counts.failed();
        log.debug({ error: messageOf(error) }, 'a prompt was not kept in the semantic cache');
        return messageOf(error);
      }
      counts.stored();
      return undefined;
    },
    async explain(prompt, { scope, threshold }, signal) {
      const place = await places.find(prompt, scope, signal);
      const bounds = { limit: maxCandidates, minScore: threshold - explainedBelow };
      const all = await candidates(prompt, place, bounds, signal);
      return all.map(candidate => {
        const { verdict, why, prompt: kept, similarity, ageMs } = candidate;
        const label = verifier.labelOf({ prompt, candidate, place });
        return { verdict, why, prompt: kept, similarity, ageMs, label };
      });
    },
    async forget(tag) {
      verifier.forget();
      return await vectors.removeTag(tag);
    },
    async stats() {
      return {
        ...counts.stats,
        model: embeddingModel,
        judge: judge?.model,
        waiting: verifier.waiting,
        refused: verifier.refused,
        labels: verifier.size,
        vectors: await vectors.stats(),
      };
    },
    stop: () => verifier.stop(),
  };
}

function hitOf({ entry, prompt, similarity, ageMs }: Candidate, why: string): SemanticFound {
  return { kind: 'hit', value: entry.value, prompt, similarity, ageMs, why };
}

/** Why a prompt has no part in this. */
function whyUnfit(prompt: string, maxLength: number): string | undefined {
  if (prompt.trim() === '') return 'the prompt is blank';
  if (prompt.length > maxLength) return `the prompt is longer than ${maxLength} characters`;
  return holdsSecret(prompt) ? 'the prompt seems to hold a secret' : undefined;
}

function whyNoValue(value: string): string | undefined {
  if (value.trim() === '') return 'the result is blank';
  if (value.length > maxValueLength)
    return `the result is longer than ${maxValueLength} characters`;
  return holdsSecret(value) ? 'the result seems to hold a secret' : undefined;
}
