import { createEmitter, createTicker, messageOf, tryParseJson } from '#core';
import { type RedisNeeds, type RedisOptions, createRedisLink } from '#redis';
import { type TrialHold, meetScript, parseDecision, reportText } from './redis-scripts.ts';
import type {
  BreakerDecision,
  JoinedBreaker,
  Membership,
  Sharing,
  SharingStatus,
  TrialClaim,
} from './shared-breakers.ts';

export type RedisSharingOptions = RedisOptions & {
  /** Name of the deployment. Hubs of different deployments do not share breakers; default `agenthub`. */
  readonly deployment?: string | undefined;
  /** Interval in ms at which breakers are synchronized, which makes up for lost messages; default 2 s. */
  readonly syncMs?: number;
  /** Maximum duration of `start` in ms; default 1 s. */
  readonly startMs?: number;
  /** Lifetime of a state in Redis that no hub reports again, in ms from its next trial; default 10 min. */
  readonly keptMs?: number;
};

type Member = {
  readonly key: string;
  readonly breaker: JoinedBreaker;
  /** Epoch of the latest decision that this hub knows, including its own decisions. */
  epoch: number;
  /** Time of a decision of this hub that other hubs do not know yet, in monotonic ms. */
  decidedAt?: number | undefined;
  /** Lock on a trial, to be renewed or released at the next synchronization. */
  trial?: TrialHold | undefined;
  /** True if the next synchronization reports this breaker. */
  isDue: boolean;
  /** True while a request for the lock of a trial is unanswered. */
  isAsking: boolean;
};

/** Time in ms after which this hub decides about a trial alone if Redis does not answer. */
const claimMs = 150;
/** Maximum number of breakers per synchronization request. The rest follows immediately. */
const maxBatch = 100;

/**
 * Shares breakers of several hubs through Redis. Only the trial call of a breaker waits for Redis. The state of a
 * breaker is at `{deployment}:breaker:state:{key}`, changes are published on one channel, and a trial is locked by SET
 * NX at `{deployment}:breaker:trial:{key}`, which the hub renews during the trial.
 *
 * While Redis is unreachable or slow, each hub decides alone and keeps the latest decision on each breaker. On each
 * connection and every `syncMs`, hubs synchronize (`meet`): they report what they know and read what they missed. This
 * also repairs a flush or restart of Redis. The latest decision wins (`redis-scripts.ts`).
 */
export function createRedisSharing(options: RedisSharingOptions, needs: RedisNeeds): Sharing {
  const { syncMs = 2_000, startMs = 1_000, keptMs = 600_000 } = options;
  const { clock } = needs;
  const prefix = `${options.deployment ?? 'agenthub'}:breaker:`;
  const channel = `${prefix}decided`;
  const stateKey = (key: string) => `${prefix}state:${key}`;
  const trialKey = (key: string) => `${prefix}trial:${key}`;
  const members = new Set<Member>();
  const { event, fire } = createEmitter<SharingStatus>();
  const started = Promise.withResolvers<void>();
  let status: SharingStatus = { kind: 'degraded', since: clock.now(), reason: 'not connected yet' };
  let logged: SharingStatus['kind'] | undefined;
  let meeting: Promise<void> | undefined;

  const link = createRedisLink(
    { ...options, channel },
    { clock, random: needs.random, up: meetAll, down: degrade, heard },
  );

  function degrade(reason: string): void {
    const since = status.kind === 'degraded' ? status.since : clock.now();
    become({ kind: 'degraded', since, reason });
  }

  function become(next: SharingStatus): void {
    const changes = next.kind !== status.kind;
    status = next;
    if (logged !== next.kind) {
      logged = next.kind;
      if (next.kind === 'degraded')
        needs.log.warn({ reason: next.reason }, 'breakers are not shared: Redis cannot be used');
      else needs.log.info({}, 'breakers are shared through Redis');
    }
    if (changes) fire(next);
  }

  function meetAll(): void {
    for (const member of members) member.isDue = true;
    soon();
  }

  /** Synchronizes in a microtask, so that one request reports both the outcome and the end of a trial. */
  function soon(): void {
    queueMicrotask(() => {
      if (!meeting && link.isUp) meeting = meet();
    });
  }

  async function meet(): Promise<void> {
    try {
      do {
        const due = [...members].filter(member => member.isDue);
        await report(due.slice(0, maxBatch));
      } while ([...members].some(member => member.isDue));
      become({ kind: 'shared', since: status.kind === 'shared' ? status.since : clock.now() });
      started.resolve();
    } catch (error) {
      // The link reports a lost connection. The next synchronization reports the remaining breakers.
      if (link.isUp) degrade(messageOf(error));
    } finally {
      // Cleared in the same turn as the check of the members, so that a member that becomes due later starts another
      // one.
      meeting = undefined;
    }
  }

  async function report(batch: readonly Member[]): Promise<void> {
    const now = clock.monotonic();
    const reports = batch.map(({ key, breaker, epoch, decidedAt, trial }) => {
      const ageMs = decidedAt === undefined ? undefined : now - decidedAt;
      return { ...breaker.standing(), key, epoch, decidedAt, ageMs, trial };
    });
    for (const member of batch) member.isDue = false;
    const keys = batch.flatMap(({ key }) => [stateKey(key), trialKey(key)]);
    const values = [channel, keptMs, ...reports.map(reportText)];
    const rows = await link.evaluate(meetScript, keys, values);
    batch.forEach((member, index) => {
      const { decidedAt, trial } = reports[index] ?? {};
      // A decision that was made meanwhile is reported by the next synchronization.
      const isLatest = member.decidedAt === decidedAt;
      if (isLatest) member.decidedAt = undefined;
      if (member.trial === trial) member.trial = undefined;
      const row: unknown = Array.isArray(rows) ? rows[index] : undefined;
      if (!Array.isArray(row) || row.length === 0) return;
      const decision = parseDecision(row);
      if (decision && isLatest) adopt(member, decision);
      else member.epoch = Math.max(member.epoch, Number(row[0]));
    });
  }

  function adopt(member: Member, decision: BreakerDecision): void {
    // The synchronization compares this decision with the unreported one of this hub, by their ages.
    if (member.decidedAt !== undefined || decision.epoch <= member.epoch) return;
    member.epoch = decision.epoch;
    member.breaker.adopt(decision);
  }

  function heard(message: string): void {
    const parsed = tryParseJson(message);
    const [key, ...fields]: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
    const decision = parseDecision(fields);
    if (!decision) return; // Another program published the message.
    for (const member of members) if (member.key === key) adopt(member, decision);
  }

  async function claim(member: Member, leaseMs: number): Promise<TrialClaim> {
    const token = needs.newId();
    const hold = (forMs: number) => {
      member.trial = { token, leaseMs: forMs };
      member.isDue = true;
      soon();
    };
    const lastsMs = Math.ceil(leaseMs);
    const lease = { renew: () => hold(lastsMs), release: () => hold(0) };
    // If an earlier request is unanswered, Redis is known to be slow.
    if (!link.isUp || member.isAsking) return { kind: 'unknown', ...lease };
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    using _deadline = clock.after(claimMs, () => resolve(undefined));
    member.isAsking = true;
    link
      .lock(trialKey(member.key), token, lastsMs)
      .then(resolve, () => resolve(undefined))
      .finally(() => (member.isAsking = false));
    const leftMs = await promise;
    if (leftMs === undefined) return { kind: 'unknown', ...lease };
    return leftMs === 0 ? { kind: 'won', ...lease } : { kind: 'lost', leftMs };
  }

  function join(key: string, breaker: JoinedBreaker): Membership {
    const member: Member = { key, breaker, epoch: 0, isDue: true, isAsking: false };
    members.add(member);
    soon();
    return {
      tell() {
        member.decidedAt = clock.monotonic();
        member.isDue = true;
        soon();
      },
      claim: leaseMs => claim(member, leaseMs),
      [Symbol.dispose]: () => void members.delete(member),
    };
  }

  const beat = createTicker(clock, syncMs, () => {
    meetAll();
    return true;
  });

  return {
    get status() {
      return status;
    },
    changed: event,
    join,
    async start() {
      const deadline = clock.after(startMs, started.resolve);
      beat.start();
      try {
        await link.open();
      } catch (error) {
        degrade(messageOf(error));
      }
      await started.promise;
      deadline[Symbol.dispose]();
    },
    async stop() {
      beat[Symbol.dispose]();
      await meeting;
      // Reported now, because other hubs would otherwise wait for the last decisions and the ends of trials.
      if (link.isUp && [...members].some(member => member.isDue)) await meet();
      await link.close();
    },
  };
}
