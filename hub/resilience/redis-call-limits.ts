import { messageOf } from '#core';
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
  /** Hubs of another deployment have callers of their own; default `agenthub`. */
  readonly deployment?: string | undefined;
  /** Time after which the calls of a dead hub no longer count; default 15 s. */
  readonly leaseMs?: number;
  /** Timeout for Redis. After it, this hub decides about the call without the other hubs. Default: 150 ms. */
  readonly decideMs?: number;
  /** Maximum duration of `start`. Default: 1 s. */
  readonly startMs?: number;
};

type Admitted = Extract<CallAdmission, { readonly kind: 'admitted' }>;

/** Renewals during one lease. */
const renewals = 3;
/** Most calls of one renewal. */
const maxBatch = 500;

/**
 * Counts the calls of callers at several hubs together, by one script in Redis for each call. Each hub also counts its
 * own calls: what exceeds a limit within one hub is refused at once, and while Redis is away or slow that is all. The
 * calls in progress of a caller are at `{deployment}:limit:active:{key}`, the bucket at `{deployment}:limit:bucket:{key}`.
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
  /** The calls of this hub in progress: the key of the caller of each. */
  const held = new Map<string, string>();
  const started = Promise.withResolvers<void>();
  let status: SharingStatus = { kind: 'degraded', since: clock.now(), reason: 'not connected yet' };
  let logged: SharingStatus['kind'] | undefined;
  let opened: Promise<void> | undefined;
  let beat: Disposable | undefined;
  /** Questions whose answer is late: until it arrives, this hub decides alone without waiting. */
  let late = 0;
  /** Whether the latest question had no answer in time, or an error for an answer. */
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

  /** This hub decides without Redis, although there is a connection. */
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
      // A call may have ended during an earlier batch. Renewing it would count it again until its lease ends.
      const batch = calls.slice(at, at + maxBatch).filter(([id]) => held.has(id));
      const keys = batch.map(([, key]) => activeKey(key));
      await link
        .evaluate(renewScript, keys, [leaseMs, ...batch.map(([id]) => id)])
        .catch(() => undefined); // The link reports the loss, and the next renewal makes up for it.
    }
  }

  function scheduleBeat(): void {
    beat = clock.after(leaseMs / renewals, () => {
      void renew();
      // Not at once after an answer in time: the log of a Redis that is slow now and then would have two lines for each.
      if (link.isUp && !isUnanswered && status.kind === 'degraded')
        become({ kind: 'shared', since: clock.now() });
      scheduleBeat();
    });
  }

  /** What refuses the call at all hubs together; undefined if nothing does, or if Redis does not say it in time. */
  async function ask(id: string, key: string, { maxConcurrentCalls = 0, rate }: CallLimits) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const answer = link.evaluate(
      enterScript,
      [activeKey(key), bucketKey(key)],
      [id, leaseMs, maxConcurrentCalls, rate?.calls ?? 0, rate?.perMs ?? 0],
    );
    if (late > 0) {
      answer.catch(() => undefined); // The link reports the loss.
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

  /** Holds a call that this hub admits, so that its lease is renewed until it ends. */
  function hold(id: string, key: string, admitted: Admitted): Admitted {
    held.set(id, key);
    return {
      kind: 'admitted',
      leave() {
        held.delete(id);
        admitted.leave();
        link.evaluate(leaveScript, [activeKey(key)], [id]).catch(() => undefined); // Its lease ends.
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
        scheduleBeat();
        await link.open().catch((error: unknown) => degrade(messageOf(error)));
        await started.promise;
        deadline[Symbol.dispose]();
      })();
      return opened;
    },
    async stop() {
      beat?.[Symbol.dispose]();
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
