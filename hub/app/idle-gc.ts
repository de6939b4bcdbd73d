import { executionAsyncResource } from 'node:async_hooks';
import { type Clock, type Log, type Service, messageOf } from '#core';

export type SettlingNeeds = {
  readonly servers: { readonly all: readonly { readonly status: { readonly state: string } }[] };
  /** A number that is another one after each call. */
  readonly lastCall: () => number;
  readonly collect: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
};

/** How long nobody may have called, in milliseconds: for a twentieth of a second the hub answers nobody. */
const quietMs = 3_000;
/** When memory is given back after a flood, each after the one before: servers still send their answers to cancelled calls. */
const reliefsMs = [1_000, 4_000, 6_000] as const;

/**
 * Gives back, once, what only the start needed, when no server is starting and nobody calls. A hub that does
 * little allocates little, and V8 would keep it for days (decisions/0007).
 */
export function createSettling(needs: SettlingNeeds): Service {
  let waiting: Disposable | undefined;
  const kept: object[] = [];

  function wait(before: number): void {
    waiting = needs.clock.after(quietMs, () => {
      const now = needs.lastCall();
      const isStarting = needs.servers.all.some(({ status }) => status.state === 'starting');
      if (now !== before || isStarting) return wait(now);
      needs
        .collect()
        .catch((error: unknown) =>
          needs.log.debug({ error: messageOf(error) }, 'no memory could be given back'),
        );
    });
  }

  return {
    name: 'settling',
    async start() {
      kept.push(await queuedTick());
      wait(needs.lastCall());
    },
    async stop() {
      waiting?.[Symbol.dispose]();
      kept.length = 0;
    },
  };
}

/**
 * Gives the memory of a flood back, after it is over and at most once at a time: a hub that does little collects no
 * garbage by itself for days.
 */
export function createRelief({
  collect,
  clock,
  log,
}: Pick<SettlingNeeds, 'collect' | 'clock' | 'log'>): () => void {
  let isWaiting = false;
  const collectAfter = ([delayMs, ...later]: readonly number[]): void => {
    isWaiting = delayMs !== undefined;
    if (delayMs === undefined) return;
    clock.after(delayMs, () => {
      collect().catch((error: unknown) =>
        log.debug({ error: messageOf(error) }, 'no memory could be given back'),
      );
      collectAfter(later);
    });
  };
  return () => {
    if (!isWaiting) collectAfter(reliefsMs);
  };
}

/**
 * One of the objects by which `process.nextTick` queues its callbacks. V8 forgets the shape of objects when it
 * collects all garbage while there are none, and what `nextTick` does for each is never optimized again after
 * that: requests cost a fifth more for good. While one of them is kept, that does not happen.
 */
export function queuedTick(): Promise<object> {
  return new Promise(resolve =>
    process.nextTick(() => {
      resolve(executionAsyncResource());
    }),
  );
}

/** Collects all garbage, and shrinks the heap to what is left. Rejects in a Node that has no inspector. */
export async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
