import { createTicker, messageOf } from '#core';
import { type RedisNeeds, type RedisOptions, createDeadlines, createRedisLink } from '#redis';
import {
  type CallAdmission,
  type CallLimiter,
  type CallLimits,
  concurrencyRetryMs,
  createMemoryCallLimiter,
} from './call-limits.ts';
import { enterScript, leaveScript, renewScript } from './limit-scripts.ts';
import type { SharingStatus } from './shared-breakers.ts';

export type RedisCallLimiterOptions = RedisOptions & {
  /** Name of the deployment. Hubs of different deployments count calls separately; default `agenthub`. */
  readonly deployment?: string | undefined;
  /** Time in ms after which the calls of a dead hub no longer count; default 15 s. */
  readonly leaseMs?: number;
  /** Timeout of Redis in ms, after which this hub decides about a call without the other hubs. Default: 150 ms. */
  readonly decideMs?: number;
  /** Maximum duration of `start` in ms. Default: 1 s. */
  readonly startMs?: number;
};

type Admitted = Extract<CallAdmission, { readonly kind: 'admitted' }>;

/** Number of renewals during one lease. */
const renewals = 3;
/** Maximum number of calls per renewal request. */
const maxBatch = 500;

/**
 * Creates a limiter that counts the calls of each caller at several hubs together, with one Redis script per call. Each
 * hub also counts its own calls: it refuses a call at once that exceeds a limit there, and applies only this count
 * while Redis is unreachable or slow. The calls in progress of a caller are at `{deployment}:limit:active:{key}`, its
 * bucket at `{deployment}:limit:bucket:{key}`.
 */
export function createRedisCallLimiter(
  options: RedisCallLimiterOptions,
  needs: RedisNeeds,
): CallLimiter {
  const { leaseMs = 15_000, decideMs = 150, startMs = 1_000 } = options;
  const { clock } = needs;
  const prefix = `${options.deployment ?? 'agenthub'}:limit:`;
  const activeKey = (key: string) => `${prefix}active:${key}`;
  const bucketKey = (key: string) => `${prefix}bucket:${key}`;
  const address = new URL(options.url).host;
  const own = createMemoryCallLimiter(clock);
  const deadlines = createDeadlines(decideMs, clock);
  /** Keys of the callers, by the ids of their calls in progress at this hub. */
  const held = new Map<string, string>();
  const started = Promise.withResolvers<void>();
  let status: SharingStatus = { kind: 'degraded', since: clock.now(), reason: 'not connected yet' };
  let logged: SharingStatus['kind'] | undefined;
  let opened: Promise<void> | undefined;
  /** Number of requests with a late answer. While there are any, this hub decides alone, without waiting. */
  let late = 0;
  /** True if the latest request failed or had no answer in time. */
  let isUnanswered = false;

  const link = createRedisLink(
    { ...options, channel: `${prefix}nothing` },
    {
      clock,
      random: needs.random,
      up() {
        void renew();
        isUnanswered = false;
        become({ kind: 'shared', since: clock.now() });
        started.resolve();
      },
      down: degrade,
      heard() {},
    },
  );

  function degrade(reason: string): void {
    const since = status.kind === 'degraded' ? status.since : clock.now();
    become({ kind: 'degraded', since, reason });
  }

  /** Records that this hub decides without Redis, although it is connected. */
  function unanswered(reason: string): void {
    isUnanswered = true;
    if (link.isUp) degrade(reason);
  }

  function become(next: SharingStatus): void {
    status = next;
    if (logged === next.kind) return;
    logged = next.kind;
    if (next.kind === 'degraded')
      needs.log.warn(
        { reason: next.reason },
        'limits of clients count the calls of this hub only: Redis cannot be used',
      );
    else needs.log.info({}, 'limits of clients are shared through Redis');
  }

  async function renew(): Promise<void> {
    const calls = Array.from(held);
    for (let at = 0; at < calls.length; at += maxBatch) {
      // Calls that ended during an earlier batch are left out: a renewal would count them again until the lease ends.
      const batch = calls.slice(at, at + maxBatch).filter(([id]) => held.has(id));
      const keys = batch.map(([, key]) => activeKey(key));
      await link
        .evaluate(renewScript, keys, [leaseMs, ...batch.map(([id]) => id)])
        .catch(() => undefined); // The link reports a lost connection, and the next renewal makes up for it.
    }
  }

  const beat = createTicker(clock, leaseMs / renewals, () => {
    void renew();
    // Not right after an answer in time: for an occasionally slow Redis, that would log two lines each time.
    if (link.isUp && !isUnanswered && status.kind === 'degraded')
      become({ kind: 'shared', since: clock.now() });
    return true;
  });

  /** Returns the limit that the call exceeds at all hubs together; undefined if none, or if Redis does not answer. */
  async function ask(id: string, key: string, { maxConcurrentCalls = 0, rate }: CallLimits) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const answer = link.evaluate(
      enterScript,
      [activeKey(key), bucketKey(key)],
      [id, leaseMs, maxConcurrentCalls, rate?.calls ?? 0, rate?.perMs ?? 0],
    );
    if (late > 0) {
      answer.catch(() => undefined); // The link reports a lost connection.
      return undefined;
    }
    const wait = deadlines.begin(() => {
      late += 1;
      unanswered(`${address} did not answer within ${decideMs} ms`);
      resolve(undefined);
    });
    answer
      .then(row => {
        if (!wait.end()) return void (late -= 1);
        isUnanswered = false;
        resolve(row);
      })
      .catch((error: unknown) => {
        if (!wait.end()) late -= 1;
        unanswered(messageOf(error));
        resolve(undefined);
      });
    const row = await promise;
    if (!Array.isArray(row) || row.length === 0) return undefined;
    const [by, retryAfterMs] = row;
    return by === 'rate'
      ? { by: 'rate' as const, retryAfterMs: Number(retryAfterMs) }
      : { by: 'maxConcurrentCalls' as const, retryAfterMs: concurrencyRetryMs };
  }

  /** Registers a call that this hub admitted, so that its lease is renewed until the call ends. */
  function hold(id: string, key: string, admitted: Admitted): Admitted {
    held.set(id, key);
    return {
      kind: 'admitted',
      leave() {
        held.delete(id);
        admitted.leave();
        link.evaluate(leaveScript, [activeKey(key)], [id]).catch(() => undefined); // Without this, the lease of the call expires.
      },
    };
  }

  async function enterShared(
    id: string,
    key: string,
    limits: CallLimits,
    admitted: Admitted,
  ): Promise<CallAdmission> {
    const refusal = await ask(id, key, limits);
    if (!refusal) return admitted;
    own.giveBack(key);
    admitted.leave();
    return { kind: 'refused', ...refusal };
  }

  return {
    get status() {
      return status;
    },
    start() {
      opened ??= (async () => {
        const deadline = clock.after(startMs, started.resolve);
        beat.start();
        await link.open().catch((error: unknown) => degrade(messageOf(error)));
        await started.promise;
        deadline[Symbol.dispose]();
      })();
      return opened;
    },
    async stop() {
      beat[Symbol.dispose]();
      deadlines[Symbol.dispose]();
      await link.close();
    },
    enter(key, limits) {
      const admission = own.enter(key, limits);
      if (admission.kind === 'refused') return admission;
      const id = needs.newId();
      const admitted = hold(id, key, admission);
      return link.isUp ? enterShared(id, key, limits, admitted) : admitted;
    },
  };
}
