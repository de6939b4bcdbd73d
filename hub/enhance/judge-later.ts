import { type Clock, type Log, messageOf } from '#core';
import type { Judge, Judgement } from './judge.ts';

/** Two prompts that are judged when there is time. */
export type Pair = { readonly key: string; readonly a: string; readonly b: string };

/** Has pairs judged in the background, one at a time. */
export interface LaterJudgements {
  /** How many wait or are judged. */
  readonly waiting: number;
  /** How many were not taken, because enough waited. */
  readonly refused: number;
  /** Takes a pair unless it waits already or too many do. `done` is called with what the judge says. */
  offer(pair: Pair, done: (judgement: Judgement) => Promise<void>): void;
  /** Ends what is under way; nothing is taken from then on. */
  stop(): void;
}

type Options = {
  /** Pairs, including the one that is judged. */
  readonly maxWaiting: number;
  /** Before each judgement, so that the answer somebody waits for comes first. */
  readonly pauseMs: number;
};

type Needs = {
  readonly judge: Pick<Judge, 'ponder'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
};

/** Nothing runs before the first pair. */
export function createLaterJudgements(
  { maxWaiting, pauseMs }: Options,
  { judge, clock, log }: Needs,
): LaterJudgements {
  const waiting = new Map<string, Pair & { readonly done: (said: Judgement) => Promise<void> }>();
  const ended = new AbortController();
  let refused = 0;
  let timer: Disposable | undefined;

  function schedule(): void {
    if (timer || waiting.size === 0) return;
    timer = clock.after(pauseMs, () => void judgeNext());
  }

  async function judgeNext(): Promise<void> {
    for (const [key, { a, b, done }] of waiting) {
      try {
        await done(await judge.ponder(a, b, ended.signal));
      } catch (error) {
        if (!ended.signal.aborted)
          log.warn({ error: messageOf(error) }, 'a judgement could not be kept');
      }
      waiting.delete(key);
      break;
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
