import { type Clock, type Log, messageOf } from '#core';
import type { Models } from '#models';
import type { Vectors } from '#vectors';
import { type Comparison, compareGuarded } from './guards.ts';
import type { Judge } from './judge.ts';
import { holdsSecret } from './secrets.ts';
import {
  type Candidate,
  type EmbeddedPrompt,
  type SemanticEntry,
  createPromptEmbedder,
  entryOf,
  pointOf,
} from './semantic-entry.ts';
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

type NearPrompt = Pick<Candidate, 'similarity' | 'ageMs'> & { readonly prompt: string };

type SemanticFound =
  | (NearPrompt & { readonly kind: 'hit'; readonly value: string; readonly why: string })
  /** `similarity` is that of the nearest candidate; undefined if there was none. */
  | { readonly kind: 'miss'; readonly similarity?: number; readonly why: string };

/** A cached prompt near another one, with the verdict of the guards. */
export type Nearby = NearPrompt &
  Comparison & {
    /** The answer of the judge, if it was asked. */
    readonly label: Label | undefined;
  };

export type SemanticCache = ReturnType<typeof createSemanticCache>;

export type SemanticOptions = {
  readonly embeddingModel: string;
  readonly maxPerScope?: number;
  /** Maximum length of prompts in the cache: long prompts are rarely asked in other words. */
  readonly maxPromptLength?: number;
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
const maxValueLength = 64_000;
/** An explanation includes entries this far below the threshold. */
const explainedBelow = 0.25;

/** Does no I/O. */
export function createSemanticCache(options: SemanticOptions, needs: Needs) {
  const { embeddingModel, maxPerScope = 10_000, maxPromptLength = 6_000 } = options;
  const { maxWaiting = 32 } = options;
  const { vectors, judge, clock, log } = needs;
  const embed = createPromptEmbedder(embeddingModel, needs);
  const verifier = createVerifier({ maxPerScope, maxWaiting }, needs);
  /** `shadowHits` are those that were not returned, in mode `shadow`. */
  const counts = { hits: 0, misses: 0, shadowHits: 0, stored: 0, errors: 0 };

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
      return [{ entry, similarity: point.score, ageMs, ...compareGuarded(prompt, entry.prompt) }];
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
        candidate.verdict !== 'different' &&
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
    /** A failure is a miss with its reason. Rejects only with the reason of `signal`. */
    async find(prompt: string, lookup: Lookup, signal: AbortSignal): Promise<SemanticFound> {
      signal.throwIfAborted();
      const refused = lookup.mode === 'off' ? 'switched off' : whyUnfit(prompt, maxPromptLength);
      if (refused !== undefined) return { kind: 'miss', why: refused };
      try {
        const found = await look(prompt, lookup, signal);
        if (found.kind === 'miss') counts.misses++;
        else if (lookup.mode !== 'shadow') counts.hits++;
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
     * Keeps a complete result of the scope's model. Resolves with the reason if it was not kept. Rejects only with the
     * reason of `signal`.
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
        const entry = { prompt, value, tag, createdAt, expiresAt, isAlias: false };
        const bounds = { scope: embedded.scope, maxPerScope };
        await vectors.put(embedded.collection, pointOf(entry, embedded), bounds, signal);
      } catch (error) {
        return failed(error, signal);
      }
      counts.stored++;
      return undefined;
    },
    /** The nearest entries, also below the threshold, the nearest first. Rejects as models and vectors do. */
    async explain(
      prompt: string,
      { scope, threshold }: Lookup,
      signal: AbortSignal,
    ): Promise<readonly Nearby[]> {
      const embedded = await embed(prompt, scope, signal);
      const all = await candidates(prompt, embedded, threshold - explainedBelow, signal);
      return all.map(candidate => {
        const { entry, ...compared } = candidate;
        const label = verifier.labelOf({ prompt, candidate, embedded });
        return { ...compared, prompt: entry.prompt, label };
      });
    },
    /** Removes the results of a tag, or all; resolves with their number. */
    async forget(tag?: string): Promise<number> {
      verifier.forget();
      return await vectors.removeTag(tag);
    },
    /** Statistics since the hub started. `errors` are calls in which a model or the index failed. */
    stats: async () => ({
      ...counts,
      ...verifier.stats,
      model: embeddingModel,
      judge: judge?.model,
      vectors: await vectors.stats(),
    }),
    stop: () => verifier.stop(),
  };
}

function hitOf({ entry, similarity, ageMs }: Candidate, why: string): SemanticFound {
  const { value, prompt } = entry;
  return { kind: 'hit', value, prompt, similarity, ageMs, why };
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
