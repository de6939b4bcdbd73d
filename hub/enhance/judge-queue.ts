import { type Clock, type Log, messageOf } from '#core';
import type { Judge, Judgement } from './judge.ts';

/** Two prompts to judge. */
export type JudgedPair = { readonly key: string; readonly a: string; readonly b: string };

/** Judges pairs in the background, one at a time. */
export interface JudgeQueue {
  /** Number of pairs that wait or are being judged. */
  readonly waiting: number;
  /** Number of pairs that were dropped because the queue was full. */
  readonly refused: number;
  /** Adds a pair, unless it waits already or the queue is full. Calls `done` with the answer. */
  offer(pair: JudgedPair, done: (judgement: Judgement) => Promise<void>): void;
  /** Cancels the current judgement and takes no more pairs. */
  stop(): void;
}

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

export function createJudgeQueue(
  { maxWaiting, pauseMs }: Options,
  { judge, clock, log }: Needs,
): JudgeQueue {
  const waiting = new Map<
    string,
    JudgedPair & { readonly done: (judgement: Judgement) => Promise<void> }
  >();
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
    get waiting() {
      return waiting.size;
    },
    get refused() {
      return refused;
    },
    offer(pair, done) {
      if (ended.signal.aborted || waiting.has(pair.key)) return;
      if (waiting.size >= maxWaiting) {
        refused++;
        return;
      }
      waiting.set(pair.key, { ...pair, done });
      schedule();
    },
    stop() {
      ended.abort();
      waiting.clear();
      timer?.[Symbol.dispose]();
    },
  };
}
