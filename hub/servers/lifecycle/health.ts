import type { ServerConfig } from '#config';
import { type Clock, type Log, messageOf } from '#core';
import type { Upstream } from '#upstream';
import { type Introduction, asModern, needAlive } from '../handshake/handshake.ts';

/** What is known of a running server's health. */
export type Health = {
  /** When the server last answered to be asked, in milliseconds since the epoch; undefined before. */
  readonly at: number | undefined;
  /** How long that answer took, in milliseconds. */
  readonly latencyMs: number | undefined;
  /** How often it has not answered since. */
  readonly misses: number;
};

export type HealthOptions = {
  /** From one asking to the next, in milliseconds. */
  readonly intervalMs: () => number;
};

export type HealthNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 to 1: servers that started together are not asked together. */
  readonly random: () => number;
  /** Asks the server for any answer at all: MCP `ping`, or `server/discover` of the stateless revision. */
  readonly ask: (timeoutMs: number) => Promise<unknown>;
  /** Whether the server may be silent because it works. */
  readonly isAtWork: () => boolean;
  /** It has missed too often. Called once. */
  readonly dead: (why: string) => void;
};

/** What is watched of a server until it is disposed. */
export type HealthWatch = Disposable & {
  readonly health: Health;
  /** Has another interval in force at once. */
  retime(): void;
};

/** A watch over a server that has been greeted. */
export type Watch = HealthWatch & {
  /** Resolves with why the server is taken for dead, if it ever is. */
  readonly unresponsive: Promise<string>;
};

/** A server that has been greeted. */
type Greeted = { readonly upstream: Upstream; readonly introduction: Introduction };

/** A server that does not answer this often in a row is taken for dead. */
export const maxMisses = 3;
const longestAnswerMs = 10_000;

/** Resolves when a server that has been greeted answers at all, in the era that it speaks. Rejects with HubError. */
export const needAnswer = (
  { upstream, introduction }: Greeted,
  hubVersion: string,
  timeoutMs: number,
): Promise<void> =>
  introduction.era === 'modern'
    ? needAlive(asModern(upstream, hubVersion), timeoutMs, 'server/discover')
    : needAlive(upstream, timeoutMs);

/** Watches over a server that has been greeted, in the era that it speaks. */
export function watchRunning(
  config: () => Pick<ServerConfig, 'healthCheckIntervalMs'>,
  { upstream, introduction }: Greeted,
  needs: Pick<HealthNeeds, 'clock' | 'log' | 'random'> & { readonly hubVersion: string },
): Watch {
  const { promise: unresponsive, resolve } = Promise.withResolvers<string>();
  const watched = watchHealth(
    { intervalMs: () => config().healthCheckIntervalMs },
    {
      ...needs,
      ask: timeoutMs => needAnswer({ upstream, introduction }, needs.hubVersion, timeoutMs),
      isAtWork: () => upstream.isAtWork(),
      dead: resolve,
    },
  );
  return {
    unresponsive,
    get health() {
      return watched.health;
    },
    retime: () => watched.retime(),
    [Symbol.dispose]: () => watched[Symbol.dispose](),
  };
}

/** Watches over a server until disposed. A miss while it works on a call says nothing. */
export function watchHealth(options: HealthOptions, needs: HealthNeeds): HealthWatch {
  const { clock, log } = needs;
  let health: Health = { at: undefined, latencyMs: undefined, misses: 0 };
  let isOver = false;
  let timer: Disposable | undefined;

  function later(delayMs: number): void {
    timer = clock.after(delayMs, () => void check());
  }

  async function check(): Promise<void> {
    timer = undefined;
    const since = clock.monotonic();
    const intervalMs = options.intervalMs();
    const answerMs = Math.min(intervalMs, longestAnswerMs);
    let misses = 0;
    try {
      await needs.ask(answerMs);
      if (isOver) return;
      health = { at: clock.now(), latencyMs: clock.monotonic() - since, misses };
    } catch (error) {
      if (isOver) return;
      misses = needs.isAtWork() ? health.misses : health.misses + 1;
      health = { ...health, misses };
      log.debug({ misses, error: messageOf(error) }, 'the server did not answer to be asked');
    }
    if (misses < maxMisses) return later(misses > 0 ? Math.min(intervalMs, answerMs) : intervalMs);
    isOver = true;
    needs.dead(
      `it did not answer ${maxMisses} times in a row, each within ${answerMs / 1000} s, and was ended`,
    );
  }

  const begin = () => later(options.intervalMs() * (0.5 + needs.random() / 2));
  begin();
  return {
    retime() {
      // One that is being asked is asked again after the new interval.
      if (!timer) return;
      timer[Symbol.dispose]();
      begin();
    },
    get health() {
      return health;
    },
    [Symbol.dispose]() {
      isOver = true;
      timer?.[Symbol.dispose]();
    },
  };
}
