import { type Clock, type Log, messageOf, sleep } from '#core';
import { type ReapNeeds, reap } from './reap.ts';

/** Result of a cleanup. `left`: some leftovers remain. `unheard`: the engine did not answer. */
export type Tidied = 'clear' | 'left' | 'unheard';

/** Removes the leftovers of this hub. */
export interface Tidying {
  /** Tries once. Never rejects. */
  now(): Promise<Tidied>;
  /** Retries until nothing is left, or until `stop`. */
  owe(): void;
  stop(): void;
}

type Needs = Omit<ReapNeeds, 'log'> & { readonly clock: Clock; readonly log: Log };

const firstRetryMs = 500;
/** Maximum retry interval in ms. Leftovers that the engine refuses to remove, or that await adoption, have time. */
const lastRetryMs: Readonly<Record<Tidied, number>> = {
  unheard: 5_000,
  clear: 5_000,
  left: 30_000,
};
/** Number of consecutive clear results before it stops: a slow engine may still execute an earlier call. */
const looksWhenClear = 2;

/** Cleans up the objects with a label. */
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
      log.debug({ problem: messageOf(error) }, 'could not look for leftovers');
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
