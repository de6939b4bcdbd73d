import { type Clock, type Log, messageOf, sleep } from '#core';
import { type ReapNeeds, reap } from './reap.ts';

/** What a look at the engine came to: `left` where something is there that nobody runs, `unheard` where no engine answers. */
export type Tidied = 'clear' | 'left' | 'unheard';

/** Removes what this hub has on its engine and nobody holds. */
export interface Tidying {
  /** Removes it once. Never rejects. */
  now(): Promise<Tidied>;
  /** Something is left, or may be: looks again and again, until nothing is or it is stopped. */
  owe(): void;
  stop(): void;
}

type Needs = Omit<ReapNeeds, 'log'> & { readonly clock: Clock; readonly log: Log };

const firstRetryMs = 500;
/** An engine that is back is noticed soon; what it refuses to remove, or is to be taken back, has time. */
const lastRetryMs: Readonly<Record<Tidied, number>> = {
  unheard: 5_000,
  clear: 5_000,
  left: 30_000,
};
/** An engine that was silent may do late what it was asked: nothing must be left several times in a row. */
const looksWhenClear = 2;

/** What has the label. Nothing is owed at first. */
export function createTidying(label: string, needs: Needs): Tidying {
  const { clock, log } = needs;
  const stopping = new AbortController();
  let isGoing = false;
  let retryMs = firstRetryMs;
  let clearLooks = 0;

  async function now(): Promise<Tidied> {
    try {
      return (await reap(label, needs)) ? 'clear' : 'left';
    } catch (error) {
      log.debug({ problem: messageOf(error) }, 'what may be left behind is not removed yet');
      return 'unheard';
    }
  }

  async function settle(): Promise<void> {
    isGoing = true;
    while (clearLooks < looksWhenClear) {
      await sleep(retryMs, { clock, signal: stopping.signal });
      if (stopping.signal.aborted) return;
      const found = await now();
      clearLooks = found === 'clear' ? clearLooks + 1 : 0;
      retryMs = Math.min(retryMs * 2, lastRetryMs[found]);
    }
    isGoing = false;
  }

  return {
    now,
    owe() {
      clearLooks = 0;
      retryMs = firstRetryMs;
      if (!isGoing) void settle();
    },
    stop: () => stopping.abort(),
  };
}
