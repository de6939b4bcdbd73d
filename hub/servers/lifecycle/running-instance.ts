import type { ServerConfig } from '#config';
import type { Clock, Log } from '#core';
import type { Started } from '../handshake/start-types.ts';
import { type Health, needAnswer, watchHealth } from './health.ts';
import { watchIdle } from './idle.ts';

/** How an instance ended. */
export type Ending = {
  /** The error of its channel, if that failed. */
  readonly cause?: Error | undefined;
  /** Why the hub considers it unresponsive, if it does. */
  readonly unresponsive?: string;
};

/** The running instance of a server, watched until it is detached. */
export type RunningInstance = Started & {
  /** On the monotonic clock, in milliseconds. */
  readonly sinceMs: number;
  readonly health: Health;
  /** Resolves when the instance has ended or does not respond. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Applies the intervals of a changed config. */
  retime(): void;
  /** Stops watching the instance and listening to it. */
  detach(): void;
};

export type RunningInstanceNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
  /** Whether a client listens to notifications of the server. */
  readonly isHeard: () => boolean;
  /** Called when the instance had no work for `idle_stop`. */
  readonly idle: () => void;
};

/** Watches the health, the idle time and the end of an instance. */
export function watchInstance(
  config: () => Pick<ServerConfig, 'healthCheckIntervalMs' | 'idleStopMs'>,
  started: Started,
  needs: RunningInstanceNeeds,
): RunningInstance {
  const { instance, upstream } = started.running;
  const unresponsive = Promise.withResolvers<string>();
  const watch = watchHealth(
    { intervalMs: () => config().healthCheckIntervalMs },
    {
      ...needs,
      ask: timeoutMs => needAnswer(started.running, needs.hubVersion, timeoutMs),
      isAtWork: () => upstream.isAtWork(),
      dead: unresponsive.resolve,
    },
  );
  const idleWatch = watchIdle(config, {
    clock: needs.clock,
    calls: () => upstream.relayed(),
    isBusy: () => upstream.onlyCaller() !== 'none' || needs.isHeard(),
    idle: needs.idle,
  });
  const ended = Promise.race<Ending>([
    instance.exited.then(() => ({})),
    instance.channel.closed.then(({ error }) => ({ cause: error })),
    unresponsive.promise.then(why => ({ unresponsive: why })),
  ]);
  return {
    ...started,
    sinceMs: needs.clock.monotonic(),
    get health() {
      return watch.health;
    },
    ended,
    retime() {
      watch.retime();
      idleWatch.retime();
    },
    detach() {
      watch[Symbol.dispose]();
      idleWatch[Symbol.dispose]();
      started.subscription?.stop();
    },
  };
}
