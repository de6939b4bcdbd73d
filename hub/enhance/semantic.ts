import { type Clock, type Log, messageOf } from '#core';
import type { Models } from '#models';
import type { Vectors, VectorsStats } from '#vectors';
import { type Comparison, compareGuarded } from './guards.ts';
import type { Judge, Judgement } from './judge.ts';
import { holdsSecret } from './secrets.ts';
import { type Candidate, entryOf, pointOf } from './semantic-entry.ts';
import { type EmbeddedPrompt, createPromptEmbedder } from './semantic-vectors.ts';
import { type Label, createVerifier } from './semantic-verify.ts';

/**
 * When the result of another prompt is returned. `verified`: if the guards or the judge say that both prompts mean
 * the same. `threshold`: if they are similar enough and no guard objects. `shadow`: never, but hits are counted.
 */
export type SemanticMode = 'off' | 'shadow' | 'verified' | 'threshold';

export type Lookup = {
  /** Key of everything that a result depends on except the prompt: client, rule, model digest, system prompt. */
  readonly scope: string;
  readonly mode: SemanticMode;
  /** Candidates have a cosine similarity above it. */
  readonly threshold: number;
};

export type SemanticFound =
  | {
      readonly kind: 'hit';
      readonly value: string;
      /** The prompt that the result was made for. */
      readonly prompt: string;
      readonly similarity: number;
      readonly ageMs: number;
      readonly why: string;
    }
  /** `similarity` is that of the nearest candidate; undefined if there was none. */
  | { readonly kind: 'miss'; readonly similarity?: number; readonly why: string };

/** A cached prompt near another one, with the verdict of the guards. */
export type Nearby = Comparison & {
  readonly prompt: string;
  readonly similarity: number;
  readonly ageMs: number;
  /** The answer of the judge, if it was asked. */
  readonly label: Label | undefined;
};

/** Statistics since the hub started. */
export type SemanticStats = {
  readonly hits: number;
  readonly misses: number;
  /** Hits that were not returned, in mode `shadow`. */
  readonly shadowHits: number;
  readonly stored: number;
  /** Calls in which a model or the index failed. */
  readonly errors: number;
  readonly judgements: Readonly<Record<Judgement, number>>;
  readonly model: string;
  readonly judge: string | undefined;
  /** Pairs that wait for the judge. */
  readonly waiting: number;
  /** Pairs that were dropped because too many waited. */
  readonly refused: number;
  /** Remembered answers of the judge. */
  readonly labels: number;
  readonly vectors: VectorsStats;
};

/** Results by the meaning of prompts. */
export interface SemanticCache {
  /** A failure is a miss with its reason. Rejects only with the reason of `signal`. */
  find(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<SemanticFound>;
  /**
   * Keeps a complete result of the scope's model. Resolves with the reason if it was not kept. Rejects only with the
   * reason of `signal`.
   */
  store(
    entry: { readonly prompt: string; readonly value: string },
    bounds: { readonly scope: string; readonly tag: string; readonly ttlMs: number },
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** The nearest entries, also below the threshold, the nearest first. Rejects as models and vectors do. */
  explain(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<readonly Nearby[]>;
  /** Removes the results of a tag, or all; resolves with their number. */
  forget(tag?: string): Promise<number>;
  stats(): Promise<SemanticStats>;
  /** Cancels pending judgements. */
  stop(): void;
}

export type SemanticOptions = {
  readonly embeddingModel: string;
  readonly maxPerScope?: number;
  /** Maximum length of prompts in the cache: long prompts are rarely asked in other words. */
  readonly maxPromptLength?: number;
  /** Maximum number of pairs that wait for the judge. */
  readonly maxWaiting?: number;
};

type Needs = {
  readonly models: Pick<Models, 'embed'>;
  readonly vectors: Pick<Vectors, 'near' | 'put' | 'removeTag' | 'stats'>;
  /** Undefined: only the guards decide. */
  readonly judge: Judge | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/** Candidates that are compared in one look-up. */
const maxCandidates = 5;
/** Maximum length of a cached result. */
const maxValueLength = 64_000;
/** An explanation includes entries this far below the threshold. */
const explainedBelow = 0.25;

/** Does no I/O. */
export function createSemanticCache(options: SemanticOptions, needs: Needs): SemanticCache {
  const {
    embeddingModel,
    maxPerScope = 10_000,
    maxPromptLength = 6_000,
    maxWaiting = 32,
  } = options;
  const { models, vectors, judge, clock, log } = needs;
  const embed = createPromptEmbedder(embeddingModel, { models, clock });
  const counts = { hits: 0, misses: 0, shadowHits: 0, stored: 0, errors: 0 };
  const judgements = { same: 0, different: 0, unknown: 0 };
  const verifier = createVerifier(
    { maxPerScope, maxWaiting },
    { vectors, judge, judged: judgement => void judgements[judgement]++, clock, log },
  );

  async function candidates(
    prompt: string,
    { collection, vector, scope }: EmbeddedPrompt,
    minScore: number,
    signal: AbortSignal,
  ): Promise<readonly Candidate[]> {
    const bounds = { scope, limit: maxCandidates, minScore };
    const near = await vectors.near(collection, vector, bounds, signal);
    return near.flatMap(point => {
      const found = entryOf(point, clock.now());
      return found ? [{ ...found, ...compareGuarded(prompt, found.prompt) }] : [];
    });
  }

  async function look(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<SemanticFound> {
    const embedded = await embed(prompt, lookup.scope, signal);
    const all = await candidates(prompt, embedded, lookup.threshold, signal);
    const [nearest] = all;
    if (!nearest) return { kind: 'miss', why: 'no cached prompt is similar enough' };
    const { similarity } = nearest;
    const same = all.find(({ verdict }) => verdict === 'same');
    if (same) return hitOf(same, same.why);
    // Aliases are not judged: over several aliases the meaning could drift.
    const open = all.find(
      candidate =>
        candidate.verdict === 'unsure' &&
        !candidate.entry.isAlias &&
        verifier.labelOf({ prompt, candidate, embedded }) !== 'different',
    );
    if (!open) {
      const why = nearest.verdict === 'different' ? nearest.why : 'judged to differ';
      return { kind: 'miss', similarity, why };
    }
    if (lookup.mode === 'threshold') return hitOf(open, 'similar enough');
    const answer = await verifier.verify(
      { prompt, candidate: open, embedded },
      { isAwaited: lookup.mode === 'verified' },
      signal,
    );
    if (answer === 'same') return hitOf(open, 'judged to mean the same');
    if (answer === 'different') return { kind: 'miss', similarity, why: 'judged to differ' };
    return { kind: 'miss', similarity, why: judge ? 'not judged yet' : 'there is no judge' };
  }

  /** Counts a failure and returns its message. Throws the reason of an aborted signal. */
  function failed(error: unknown, signal: AbortSignal): string {
    signal.throwIfAborted();
    counts.errors++;
    log.debug({ error: messageOf(error) }, 'the semantic cache failed');
    return messageOf(error);
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
        return { kind: 'miss', why: failed(error, signal) };
      }
      if (found.kind === 'miss') counts.misses++;
      else if (lookup.mode !== 'shadow') counts.hits++;
      else {
        counts.shadowHits++;
        return { kind: 'miss', similarity: found.similarity, why: `shadow: ${found.why}` };
      }
      return found;
    },
    async store({ prompt, value }, { scope, tag, ttlMs }, signal) {
      signal.throwIfAborted();
      const refused = whyUnfit(prompt, maxPromptLength) ?? whyNoValue(value);
      if (refused !== undefined) return refused;
      try {
        const embedded = await embed(prompt, scope, signal);
        const createdAt = clock.now();
        const expiresAt = Math.round(createdAt + ttlMs);
        const entry = { prompt, value, tag, createdAt, expiresAt, isAlias: false };
        const bounds = { scope: embedded.scope, maxPerScope };
        await vectors.put(embedded.collection, pointOf(entry, embedded), bounds, signal);
      } catch (error) {
        return failed(error, signal);
      }
      counts.stored++;
      return undefined;
    },
    async explain(prompt, { scope, threshold }, signal) {
      const embedded = await embed(prompt, scope, signal);
      const all = await candidates(prompt, embedded, threshold - explainedBelow, signal);
      return all.map(candidate => {
        const { verdict, why, prompt: kept, similarity, ageMs } = candidate;
        const label = verifier.labelOf({ prompt, candidate, embedded });
        return { verdict, why, prompt: kept, similarity, ageMs, label };
      });
    },
    async forget(tag) {
      verifier.forget();
      return await vectors.removeTag(tag);
    },
    async stats() {
      return {
        ...counts,
        judgements: { ...judgements },
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

/** Why a prompt is not cached by its meaning. */
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
