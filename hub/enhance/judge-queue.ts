import { type Clock, type Log, messageOf } from '#core';
import type { Judge, Judgement } from './judge.ts';

/** Two prompts to judge. */
type JudgedPair = { readonly key: string; readonly a: string; readonly b: string };

type Done = (judgement: Judgement) => Promise<void>;

type Options = {
  /** Maximum number of pairs, including the one being judged. */
  readonly maxWaiting: number;
  /** Pause before each judgement, so that prompts of clients come first. */
  readonly pauseMs: number;
};

type Needs = {
  readonly judge: Pick<Judge, 'ponder'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
};

/** Judges pairs in the background, one at a time. */
export function createJudgeQueue({ maxWaiting, pauseMs }: Options, { judge, clock, log }: Needs) {
  const waiting = new Map<string, JudgedPair & { readonly done: Done }>();
  const ended = new AbortController();
  let refused = 0;
  let timer: Disposable | undefined;

  function schedule(): void {
    if (timer || waiting.size === 0) return;
    timer = clock.after(pauseMs, () => void judgeNext());
  }

  async function judgeNext(): Promise<void> {
    const [next] = waiting.values();
    if (next) {
      try {
        await next.done(await judge.ponder(next.a, next.b, ended.signal));
      } catch (error) {
        if (!ended.signal.aborted)
          log.warn({ error: messageOf(error) }, 'an answer of the judge could not be kept');
      }
      waiting.delete(next.key);
    }
    timer = undefined;
    schedule();
  }

  return {
    /** Number of pairs that wait or are being judged. */
    get waiting() {
      return waiting.size;
    },
    /** Number of pairs that were dropped because the queue was full. */
    get refused() {
      return refused;
    },
    /** Adds a pair, unless it waits already or the queue is full. Calls `done` with the answer. */
    offer(pair: JudgedPair, done: Done): void {
      if (ended.signal.aborted || waiting.has(pair.key)) return;
      if (waiting.size >= maxWaiting) {
        refused++;
        return;
      }
      waiting.set(pair.key, { ...pair, done });
      schedule();
    },
    /** Cancels the current judgement and takes no more pairs. */
    stop(): void {
      ended.abort();
      waiting.clear();
      timer?.[Symbol.dispose]();
    },
  };
}
