import { cacheKey } from '#cache';
import { type Clock, type Log, messageOf } from '#core';
import type { Vectors } from '#vectors';
import { createJudgeQueue } from './judge-queue.ts';
import type { Judge, Judgement } from './judge.ts';
import { type Candidate, pointOf } from './semantic-entry.ts';
import type { EmbeddedPrompt } from './semantic-vectors.ts';

/** A definite answer of the judge. */
export type Label = 'same' | 'different';

/** A prompt and a candidate for it. */
type CandidatePair = {
  readonly prompt: string;
  readonly candidate: Candidate;
  readonly embedded: EmbeddedPrompt;
};

type Needs = {
  readonly vectors: Pick<Vectors, 'put'>;
  readonly judge: Judge | undefined;
  /** Counts an answer. */
  readonly judged: (judgement: Judgement) => void;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
};

/** Pause before a background judgement, in ms: judge and models share a machine. */
const pauseMs = 5_000;
/** Maximum number of remembered answers, about 1 MB. */
const maxLabels = 10_000;

/** Asks the judge about pairs of which the guards are unsure, and remembers its answers. */
export function createVerifier(
  { maxPerScope, maxWaiting }: { readonly maxPerScope: number; readonly maxWaiting: number },
  { vectors, judge, judged, clock, log }: Needs,
) {
  /** The oldest first. In memory only: a `same` is also in the index, as an alias. */
  const labels = new Map<string, Label>();
  const queue = judge && createJudgeQueue({ maxWaiting, pauseMs }, { judge, clock, log });
  let epoch = 0;

  const keyOf = ({ prompt, candidate, embedded }: CandidatePair) =>
    cacheKey([embedded.scope, ...[prompt, candidate.prompt].toSorted()]);

  /** Remembers an answer. After a `same` the prompt becomes an alias of the entry. */
  async function keepLabel(label: Label, pair: CandidatePair): Promise<void> {
    const key = keyOf(pair);
    labels.delete(key);
    labels.set(key, label);
    const [oldest] = labels.keys();
    if (labels.size > maxLabels && oldest !== undefined) labels.delete(oldest);
    if (label !== 'same') return;
    const { prompt, candidate, embedded } = pair;
    const { collection, scope } = embedded;
    const point = pointOf({ ...candidate.entry, prompt, isAlias: true }, embedded);
    try {
      await vectors.put(collection, point, { scope, maxPerScope });
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'an answer of the judge could not be kept');
    }
  }

  return {
    /** Pairs that wait for the judge. */
    get waiting() {
      return queue?.waiting ?? 0;
    },
    /** Pairs that were dropped because too many waited. */
    get refused() {
      return queue?.refused ?? 0;
    },
    /** Remembered answers. */
    get size() {
      return labels.size;
    },
    labelOf: (pair: CandidatePair) => labels.get(keyOf(pair)),
    /**
     * The remembered answer of the judge, or a new one if it is awaited; undefined if the judge answers later. Rejects
     * with the reason of `signal`.
     */
    async verify(
      pair: CandidatePair,
      { isAwaited }: { readonly isAwaited: boolean },
      signal: AbortSignal,
    ): Promise<Label | undefined> {
      const key = keyOf(pair);
      const known = labels.get(key);
      if (known || !judge) return known;
      const [a, b] = [pair.candidate.prompt, pair.prompt];
      const asked = epoch;
      const keep = async (answer: Judgement) => {
        judged(answer);
        // An alias must not bring back an entry that was forgotten in the meantime.
        if (answer !== 'unknown' && asked === epoch) await keepLabel(answer, pair);
      };
      const answer = isAwaited ? await judge.approve(a, b, signal) : 'unknown';
      if (answer !== 'unknown') {
        await keep(answer);
        return answer;
      }
      if (isAwaited) judged(answer);
      queue?.offer({ key, a, b }, keep);
      return undefined;
    },
    /** Drops all answers, including pending ones. */
    forget(): void {
      epoch++;
      labels.clear();
    },
    stop: () => queue?.stop(),
  };
}
