import type { Config, Settings } from '#config';
import type { Event } from '#core';
import { createMemoryCallLimiter, loadRedisCallLimiter } from '#resilience';
import { type LimitRules, createRequestLimits } from '#routing';
import type { System } from './system.ts';

type Needs = System & {
  readonly source: {
    readonly current: Config;
    readonly changed: Event<{ readonly after: Config }>;
  };
};

/**
 * Creates the limits on calls, and updates them after config changes. Counts of clients are shared through Redis if
 * there is one.
 */
export async function wireLimits(
  { redisUrl, deployment }: Pick<Settings, 'redisUrl' | 'deployment'>,
  { source, ...system }: Needs,
) {
  const { clock, log } = system;
  const clients =
    redisUrl === undefined
      ? createMemoryCallLimiter(clock)
      : (await loadRedisCallLimiter())(
          { url: redisUrl, deployment },
          { ...system, log: log.child({ part: 'redis' }) },
        );
  let rules = limitsIn(source.current);
  const isShared = () => rules !== undefined && rules.clients.size > 0;
  async function start(): Promise<void> {
    if (isShared()) await clients.start();
  }
  source.changed(({ after }) => {
    rules = limitsIn(after);
    void start();
  });
  const forCalls = { rules: () => rules, clients, sessions: createMemoryCallLimiter(clock) };
  return {
    forCalls,
    /** Counts requests of the HTTP API that do what calls do. */
    forRequests: createRequestLimits(forCalls),
    /** Returns the state of the sharing of client limits with other hubs; undefined if no client has limits. */
    status: () => (isShared() ? clients.status : undefined),
    service: { start, stop: () => clients.stop() },
  };
}

/** Returns the limits in a config; undefined if it has none. */
export function limitsIn({ clients = [], perSession }: Config): LimitRules | undefined {
  const limited = clients.filter(one => one.maxConcurrentCalls !== undefined || one.rate);
  return limited.length > 0 || perSession
    ? { clients: new Map(limited.map(one => [one.name, one])), perSession }
    : undefined;
}
