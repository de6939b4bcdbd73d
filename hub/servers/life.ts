import type { ServerConfig } from '#config';
import type { Clock, Log } from '#core';
import { type Health, watchRunning } from './health.ts';
import { watchIdle } from './idle.ts';
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
  /** Has other times of the config in force. */
  retime(): void;
  /** Nobody listens to it and watches over it any more. */
  letGo(): void;
};

export type LifeNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
  /** Whether a client wants to hear of what it tells by itself. */
  readonly isHeard: () => boolean;
  /** It has had nothing to do for as long as its config says. */
  readonly idle: () => void;
};

/** Watches over a server that has been started. */
export function createLife(
  config: () => Pick<ServerConfig, 'healthCheckIntervalMs' | 'idleStopMs'>,
  started: Started,
  needs: LifeNeeds,
): Life {
  const { running, rereads, subscription } = started;
  const { instance, upstream } = running;
  const watch = watchRunning(config, running, needs);
  const idleWatch = watchIdle(config, {
    clock: needs.clock,
    calls: () => upstream.relayed(),
    isBusy: () => upstream.onlyCaller() !== 'none' || needs.isHeard(),
    idle: needs.idle,
  });
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
    retime() {
      watch.retime();
      idleWatch.retime();
    },
    letGo() {
      watch[Symbol.dispose]();
      idleWatch[Symbol.dispose]();
      subscription?.stop();
    },
  };
}
