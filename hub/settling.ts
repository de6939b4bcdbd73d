import { type Clock, type Log, type Part, messageOf } from '#core';

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

/**
 * Gives back, once, what only the start needed, when no server is starting and nobody calls. A hub that does
 * little allocates little, and V8 would keep it for days (decisions/0007).
 */
export function createSettling(needs: SettlingNeeds): Part {
  let waiting: Disposable | undefined;

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
    start: async () => wait(needs.lastCall()),
    async stop() {
      waiting?.[Symbol.dispose]();
    },
  };
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
