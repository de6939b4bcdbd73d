import { executionAsyncResource } from 'node:async_hooks';
import { type Clock, type Log, type Service, messageOf } from '#core';

type CollectNeeds = {
  readonly collect: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
};

type IdleGcNeeds = CollectNeeds & {
  readonly servers: { readonly all: readonly { readonly status: { readonly state: string } }[] };
  /** Returns a number that changes with each call. */
  readonly lastCall: () => number;
};

/** Interval in ms of the checks whether the hub is idle. */
const checkMs = 1_000;
/**
 * Number of consecutive checks that must find the hub idle: the collection blocks the hub for a twentieth of a second.
 */
const idleChecks = 3;
/**
 * Delays in ms of the collections after a flood of requests, each after the previous one: servers still answer
 * cancelled calls.
 */
const reliefsMs = [1_000, 4_000, 6_000] as const;

function collectQuietly({ collect, log }: CollectNeeds): void {
  collect().catch((error: unknown) =>
    log.debug({ error: messageOf(error) }, 'no memory could be given back'),
  );
}

/**
 * Creates a service that collects the garbage of the start once, three seconds after the last start of a server and
 * the last call. In an idle hub, V8 would keep the garbage for days (decisions/0007).
 */
export function createIdleGc(needs: IdleGcNeeds): Service {
  let waiting: Disposable | undefined;
  const kept: object[] = [];

  function check(before: number, idleBefore: number): void {
    waiting = needs.clock.after(checkMs, () => {
      const now = needs.lastCall();
      const isStarting = needs.servers.all.some(({ status }) => status.state === 'starting');
      const idle = now !== before || isStarting ? 0 : idleBefore + 1;
      if (idle < idleChecks) check(now, idle);
      else collectQuietly(needs);
    });
  }

  return {
    async start() {
      kept.push(await queuedTick());
      check(needs.lastCall(), 0);
    },
    async stop() {
      waiting?.[Symbol.dispose]();
      kept.length = 0;
    },
  };
}

/**
 * Creates a function that collects the garbage of a flood of requests after its end. In an idle hub, V8 would keep it
 * for days.
 */
export function createRelief(needs: CollectNeeds): () => void {
  let isWaiting = false;
  /** True if another flood was reported while collections were waiting. It may end after the last of them. */
  let isReportedAgain = false;

  function collectAfter([delayMs, ...later]: readonly number[]): void {
    if (delayMs === undefined) {
      isWaiting = false;
      if (isReportedAgain) relieve();
      return;
    }
    needs.clock.after(delayMs, () => {
      collectQuietly(needs);
      collectAfter(later);
    });
  }

  function relieve(): void {
    isReportedAgain = isWaiting;
    if (isWaiting) return;
    isWaiting = true;
    collectAfter(reliefsMs);
  }

  return relieve;
}

/**
 * Returns an object that `process.nextTick` uses for its queue. V8 forgets the shape of these objects if a full
 * collection finds none, and then never optimizes `nextTick` again: requests would permanently take a fifth longer.
 * Keeping one object alive prevents that.
 */
export const queuedTick = () =>
  new Promise<object>(resolve => process.nextTick(() => resolve(executionAsyncResource())));

/** Collects all garbage and shrinks the heap. Rejects if Node has no inspector. */
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
