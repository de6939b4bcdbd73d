import type { Clock } from '#core';
import type { Upstream } from '#upstream';
import { haltedError } from './failures.ts';
import type { Running } from './server.ts';
import { graceMs } from './start.ts';

/** Instances of one server that another has taken the place of, until they are gone. */
export interface Leaving {
  /** Ends an instance when it has answered what it was asked, or after a while. */
  add(running: Running): void;
  /** Resolves when a server has answered what it was asked, after a while, or when all of them are ended. */
  drained(upstream: Pick<Upstream, 'inFlight'>): Promise<void>;
  /** Ends all of them now, and resolves when they are gone. */
  end(): Promise<void>;
}

/** How long calls in flight may take to end once another instance takes the new ones. */
const drainMs = 30_000;
const lookMs = 50;

/** There are none at first. `server` is its name, for messages. */
export function createLeaving(server: string, needs: { readonly clock: Clock }): Leaving {
  const { clock } = needs;
  const ending = new Set<Promise<void>>();
  let hurry = new AbortController();

  function drained(upstream: Pick<Upstream, 'inFlight'>): Promise<void> {
    const { signal } = hurry;
    const deadline = clock.monotonic() + drainMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (upstream.inFlight() === 0 || signal.aborted || clock.monotonic() >= deadline) resolve();
      else clock.after(lookMs, look);
    };
    look();
    return promise;
  }

  return {
    drained,
    add({ instance, upstream }) {
      const over = drained(upstream)
        .then(async () => {
          upstream.fail(
            haltedError(server, 'another has taken its place, as its config was changed'),
          );
          await instance.stop({ graceMs });
        })
        .finally(() => ending.delete(over));
      ending.add(over);
    },
    async end() {
      hurry.abort();
      hurry = new AbortController();
      await Promise.all(ending);
    },
  };
}
