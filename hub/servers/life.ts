import type { ServerConfig } from '#config';
import type { Clock, Log } from '#core';
import { type Health, watchRunning } from './health.ts';
import type { Started } from './start.ts';

/** How an instance came to its end, as far as it is seen from here. */
export type Ending = {
  /** Why its channel failed, where it did. */
  readonly cause?: Error | undefined;
  /** Why it was taken for dead, where it was. */
  readonly died?: string;
};

/** One instance of a server that runs, watched until it is let go. */
export type Life = Pick<Started, 'running' | 'rereads' | 'subscription'> & {
  /** On the monotonic clock, in milliseconds. */
  readonly since: number;
  readonly health: Health;
  /** Settles when it has ended, or is to be ended as it does not answer. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Nobody listens to it and watches over it any more. */
  letGo(): void;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
};

/** Watches over a server that has been started. */
export function createLife(
  config: () => Pick<ServerConfig, 'healthCheckIntervalMs'>,
  started: Started,
  needs: Needs,
): Life {
  const { running, rereads, subscription } = started;
  const { instance } = running;
  const watch = watchRunning(config, running, needs);
  const ended = Promise.race<Ending>([
    instance.exited.then(() => ({})),
    instance.channel.closed.then(({ error }) => ({ cause: error })),
    watch.unresponsive.then(died => ({ died })),
  ]);
  return {
    running,
    rereads,
    subscription,
    since: needs.clock.monotonic(),
    get health() {
      return watch.health;
    },
    ended,
    letGo() {
      watch[Symbol.dispose]();
      subscription?.stop();
    },
  };
}
