import { cacheKey } from '#cache';
import { type Clock, type Log, messageOf } from '#core';
import type { Vectors } from '#vectors';
import type { Judge, Judgement } from './judge.ts';
import { type Candidate, type EmbeddedPrompt, pointOf } from './semantic-entry.ts';
import { setBounded } from './set-bounded.ts';

export type Label = Exclude<Judgement, 'unknown'>;

type CandidatePair = {
  readonly prompt: string;
  readonly candidate: Candidate;
  readonly embedded: EmbeddedPrompt;
};

type Options = {
  readonly maxPerScope: number;
  /** Maximum number of pairs that wait for the judge, including the one being judged. */
  readonly maxWaiting: number;
};

type Needs = {
  readonly vectors: Pick<Vectors, 'put'>;
  readonly judge: Judge | undefined;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
};

/** Pause before each background judgement, in ms: judge and models share a machine, and clients come first. */
const pauseMs = 5_000;
/** Maximum number of remembered answers, about 1 MB. */
const maxLabels = 10_000;

/** Asks the judge about pairs of which the guards are unsure, and remembers its answers. */
export function createVerifier(
  { maxPerScope, maxWaiting }: Options,
  { vectors, judge, clock, log }: Needs,
) {
  /** In memory only: a `same` is also in the index, as an alias. */
  const labels = new Map<string, Label>();
  const judgements = { same: 0, different: 0, unknown: 0 };
  /** The pairs for the judge in the background, which gets one at a time. */
  const waiting = new Map<string, () => Promise<void>>();
  const ended = new AbortController();
  let timer: Disposable | undefined;
  let refused = 0;
  let epoch = 0;

  const keyOf = ({ prompt, candidate: { entry }, embedded }: CandidatePair) =>
    cacheKey([embedded.scope, ...[prompt, entry.prompt].toSorted()]);

  /** Remembers an answer. After a `same` the prompt becomes an alias of the entry. */
  async function keepLabel(label: Label, pair: CandidatePair): Promise<void> {
    setBounded(labels, keyOf(pair), label, maxLabels);
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

  /** Adds a judgement in the background, unless it waits already or the queue is full. */
  function judgeLater(key: string, judgeNow: () => Promise<void>): void {
    if (ended.signal.aborted || waiting.has(key)) return;
    if (waiting.size >= maxWaiting) refused++;
    else waiting.set(key, judgeNow);
    schedule();
  }

  function schedule(): void {
    if (waiting.size > 0) timer ??= clock.after(pauseMs, () => void judgeNext());
  }

  async function judgeNext(): Promise<void> {
    const [[key, judgeNow] = ['', async () => {}]] = waiting;
    try {
      await judgeNow();
    } catch (error) {
      if (!ended.signal.aborted)
        log.warn({ error: messageOf(error) }, 'an answer of the judge could not be kept');
    }
    waiting.delete(key);
    timer = undefined;
    schedule();
  }

  return {
    /** Answers of the judge, pairs that wait for it or were dropped because too many waited, and remembered answers. */
    get stats() {
      const sizes = { waiting: waiting.size, refused, labels: labels.size };
      return { judgements: { ...judgements }, ...sizes };
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
      const [a, b] = [pair.candidate.entry.prompt, pair.prompt];
      const epochBefore = epoch;
      const keep = async (answer: Judgement) => {
        judgements[answer]++;
        // An alias must not bring back an entry that was forgotten in the meantime.
        if (answer !== 'unknown' && epochBefore === epoch) await keepLabel(answer, pair);
      };
      if (isAwaited) {
        const answer = await judge.approve(a, b, signal);
        await keep(answer);
        if (answer !== 'unknown') return answer;
      }
      judgeLater(key, async () => await keep(await judge.ponder(a, b, ended.signal)));
      return undefined;
    },
    /** Drops all answers, including pending ones. */
    forget(): void {
      epoch++;
      labels.clear();
    },
    /** Cancels the current judgement and drops the pairs that wait. */
    stop(): void {
      ended.abort();
      waiting.clear();
      timer?.[Symbol.dispose]();
    },
  };
}
