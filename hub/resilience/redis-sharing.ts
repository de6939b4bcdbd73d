import { createEmitter, messageOf, tryParseJson } from '#core';
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
  /** Hubs of another deployment do not share breakers with this one; default `agenthub`. */
  readonly deployment?: string | undefined;
  /** Interval of meetings, which make up for lost messages; default 2 s. */
  readonly syncMs?: number;
  /** The longest time that `start` takes; default 1 s. */
  readonly startMs?: number;
  /** Lifetime in Redis of a state that no hub brings back, counted from its next trial; default 10 min. */
  readonly keptMs?: number;
};

type Member = {
  readonly key: string;
  readonly breaker: JoinedBreaker;
  /** Epoch of the latest decision that this hub knows, including its own decisions. */
  epoch: number;
  /** Monotonic time of a decision of this hub that the others do not know yet. */
  decidedAt?: number | undefined;
  /** A trial to renew or to end at the next meeting. */
  trial?: TrialHold | undefined;
  /** Whether the next meeting reports it. */
  isDue: boolean;
  /** Whether the answer to a claim is missing. */
  isAsking: boolean;
};

/** This hub decides about a trial alone if Redis does not answer in this time. */
const claimMs = 150;
/** Most breakers of one meeting; the rest follows at once. */
const maxBatch = 100;

/**
 * Shares breakers of several hubs through Redis. No call waits for it except the one on trial. Each breaker has its
 * state at `{deployment}:breaker:state:{key}`, one channel tells of changes, and a trial is a lock by SET NX at
 * `{deployment}:breaker:trial:{key}`, which the hub renews during the trial.
 *
 * While Redis is away or slow, each hub decides by itself and keeps the latest decision on each breaker. On each
 * connection, and every `syncMs`, hubs report what they know and read what they missed. That also repairs a
 * flush or a restart of Redis. `redis-scripts.ts` has the order of decisions: the later one wins.
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
  let beat: Disposable | undefined;

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

  /** Meets after this turn, so that one meeting reports both the outcome and the end of a trial. */
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
      // The link tells of a lost connection. The next meeting reports the rest.
      if (link.isUp) degrade(messageOf(error));
    } finally {
      // In the turn of the last look at the members: none that becomes due is missed.
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
      // The next meeting reports a decision that was made meanwhile.
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
    // The meeting compares it with the decision that is not reported yet, by their ages.
    if (member.decidedAt !== undefined || decision.epoch <= member.epoch) return;
    member.epoch = decision.epoch;
    member.breaker.adopt(decision);
  }

  function heard(message: string): void {
    const parsed = tryParseJson(message);
    const [key, ...fields]: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
    const decision = parseDecision(fields);
    if (!decision) return; // Another program wrote it.
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
    // A missing answer already shows that Redis is slow.
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

  function scheduleBeat(): void {
    beat = clock.after(syncMs, () => {
      meetAll();
      scheduleBeat();
    });
  }

  return {
    get status() {
      return status;
    },
    changed: event,
    join,
    async start() {
      const deadline = clock.after(startMs, started.resolve);
      scheduleBeat();
      try {
        await link.open();
      } catch (error) {
        degrade(messageOf(error));
      }
      await started.promise;
      deadline[Symbol.dispose]();
    },
    async stop() {
      beat?.[Symbol.dispose]();
      await meeting;
      // Other hubs would wait for the last decisions and the ends of trials.
      if (link.isUp && [...members].some(member => member.isDue)) await meet();
      await link.close();
    },
  };
}
