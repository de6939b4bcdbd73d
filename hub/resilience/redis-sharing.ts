import { type Clock, type Log, createEmitter, messageOf } from '#core';
import type { Breaker } from './breaker.ts';
import { createRedisLink } from '#redis';
import {
  claimScript,
  meetScript,
  parseDecision,
  renewScript,
  sayingText,
} from './redis-scripts.ts';
import type {
  Claim,
  Decision,
  Lease,
  Membership,
  Sharing,
  SharingStatus,
} from './shared-breakers.ts';

export type RedisSharingOptions = {
  /** Such as redis://user:password@host:6379/0. A Redis Cluster is not supported. */
  readonly url: string;
  /** So often what was missed is made up for; 2 s unless given. */
  readonly syncMs?: number;
  /** An answer that takes longer is taken for none, and the connection for broken; 1 s unless given. */
  readonly answerMs?: number;
  /** A claim on a trial that is not answered in this time is decided here; 150 ms unless given. */
  readonly claimMs?: number;
  /** `start` resolves at the latest after this; 1 s unless given. */
  readonly startMs?: number;
  /** The longest wait between two attempts to connect; 2 s unless given. */
  readonly maxRetryMs?: number;
  /** What no hub brings back is forgotten after this, counted from the next trial; 10 min unless given. */
  readonly keptMs?: number;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Never the same, in no hub. */
  readonly newId: () => string;
};

type Member = {
  readonly key: string;
  readonly breaker: Pick<Breaker, 'adopt' | 'standing'>;
  /** The latest decision that it knows of, its own included. */
  epoch: number;
  /** When it decided by itself, until the others know; monotonic. */
  decidedAt: number | undefined;
  /** The token of a trial that is over, until the others know. */
  release: string | undefined;
  /** Whether it is to be spoken of at the next meeting. */
  due: boolean;
  /** Whether Redis owes it the answer to a claim. */
  asking: boolean;
};

const prefix = 'agenthub:breaker:';
const channel = `${prefix}decided`;
/** One meeting speaks of at most so many breakers; the rest follows at once. */
const maxBatch = 100;

/**
 * Brings breakers of several hubs together in Redis, without ever having a call wait for it but the one on
 * trial. What hubs have decided is kept under `agenthub:breaker:state:{key}` and told on a channel; the
 * trial is a lock at `agenthub:breaker:trial:{key}`, which ends with the trial, or soon after the hub that
 * makes it: it is renewed while both last. `redis-scripts.ts` says which of two decisions counts: the later one.
 *
 * While Redis is away or slow, each hub decides by itself and keeps its latest decision on each breaker,
 * no queue of them. On each connection, and every `syncMs`, hubs say what they know and hear what they
 * missed; that also mends what a flush or a restart of Redis has lost.
 */
export function createRedisSharing(options: RedisSharingOptions, needs: Needs): Sharing {
  const { syncMs = 2_000, answerMs = 1_000, claimMs = 150, startMs = 1_000 } = options;
  const { maxRetryMs = 2_000, keptMs = 600_000 } = options;
  const { clock } = needs;
  const members = new Set<Member>();
  const { event, fire } = createEmitter<SharingStatus>();
  const started = Promise.withResolvers<void>();
  let status: SharingStatus = { kind: 'degraded', since: clock.now(), reason: 'not connected yet' };
  let logged: SharingStatus['kind'] | undefined;
  let meeting: Promise<void> | undefined;
  let beat: Disposable | undefined;

  const link = createRedisLink(
    { url: options.url, channel, answerMs, maxRetryMs },
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
    for (const member of members) member.due = true;
    soon();
  }

  /** After this turn, so that a trial's outcome and its end are told together. */
  function soon(): void {
    queueMicrotask(() => {
      if (!meeting && link.isUp) meeting = meet();
    });
  }

  async function meet(): Promise<void> {
    try {
      do {
        const due = [...members].filter(member => member.due);
        await speakOf(due.slice(0, maxBatch));
      } while ([...members].some(member => member.due));
      become({ kind: 'shared', since: status.kind === 'shared' ? status.since : clock.now() });
      started.resolve();
    } catch (error) {
      // Of a lost connection the link tells. The rest is said at the next beat, or on the next connection.
      if (link.isUp) degrade(messageOf(error));
    } finally {
      // In the same turn as the last look at what is due: nothing that comes due is overlooked.
      meeting = undefined;
    }
  }

  async function speakOf(batch: readonly Member[]): Promise<void> {
    const now = clock.monotonic();
    const said = batch.map(({ key, breaker, epoch, decidedAt, release }) => {
      const ageMs = decidedAt === undefined ? undefined : now - decidedAt;
      return { ...breaker.standing(), key, epoch, decidedAt, ageMs, release };
    });
    for (const member of batch) member.due = false;
    const keys = batch.flatMap(({ key }) => [stateKey(key), trialKey(key)]);
    const values = [channel, keptMs, ...said.map(sayingText)];
    const answer = await link.evaluate(meetScript, keys, values);
    const rows = new Map(rowsOf(answer));
    batch.forEach((member, index) => {
      const { decidedAt, release } = said[index] ?? {};
      // What it has decided since is spoken of next.
      const isLatest = member.decidedAt === decidedAt;
      if (isLatest) member.decidedAt = undefined;
      if (member.release === release) member.release = undefined;
      const row = rows.get(index + 1);
      if (!row) return;
      const decision = parseDecision(row);
      if (decision && isLatest) adopt(member, decision);
      else member.epoch = Math.max(member.epoch, Number(row[0]));
    });
  }

  function adopt(member: Member, decision: Decision): void {
    // One that waits to be told is compared at the meeting, where its age counts.
    if (member.decidedAt !== undefined || decision.epoch <= member.epoch) return;
    member.epoch = decision.epoch;
    member.breaker.adopt(decision);
  }

  function heard(message: string): void {
    const [key, ...fields] = fieldsOf(message);
    const decision = parseDecision(fields);
    if (!decision) return;
    for (const member of members) if (member.key === key) adopt(member, decision);
  }

  async function claim(member: Member, leaseMs: number): Promise<Claim> {
    const token = needs.newId();
    const lastsMs = Math.ceil(leaseMs);
    const lease: Lease = {
      renew() {
        // What is lost on the way is made up for by the next.
        link.evaluate(renewScript, [trialKey(member.key)], [token, lastsMs]).catch(() => {});
      },
      release() {
        member.release = token;
        member.due = true;
        soon();
      },
    };
    // An answer that Redis owes already says that it is slow.
    if (!link.isUp || member.asking) return { kind: 'unknown', ...lease };
    const { promise, resolve } = Promise.withResolvers<readonly unknown[]>();
    const deadline = clock.after(claimMs, () => resolve([]));
    member.asking = true;
    link
      .evaluate(
        claimScript,
        [stateKey(member.key), trialKey(member.key)],
        [String(member.epoch), token, lastsMs],
      )
      .then(
        answer => resolve(Array.isArray(answer) ? answer : []),
        () => resolve([]),
      )
      .finally(() => (member.asking = false));
    const [outcome, ...fields] = await promise;
    deadline[Symbol.dispose]();
    if (outcome === 'won') return { kind: 'won', ...lease };
    if (outcome === 'lost') return { kind: 'lost', leftMs: Math.max(1, Number(fields[0]) || 1) };
    const decision = outcome === 'late' ? parseDecision(fields) : undefined;
    if (!decision) return { kind: 'unknown', ...lease };
    adopt(member, decision);
    return { kind: 'lost', leftMs: 0 };
  }

  function join(key: string, breaker: Pick<Breaker, 'adopt' | 'standing'>): Membership {
    const member: Member = {
      key,
      breaker,
      epoch: 0,
      decidedAt: undefined,
      release: undefined,
      due: true,
      asking: false,
    };
    members.add(member);
    soon();
    return {
      tell() {
        member.decidedAt = clock.monotonic();
        member.due = true;
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
      // What has just been decided, or is over, the others would wait for.
      if (link.isUp && [...members].some(member => member.due)) await meet();
      await link.close();
    },
  };
}

const stateKey = (key: string) => `${prefix}state:${key}`;
const trialKey = (key: string) => `${prefix}trial:${key}`;

/** The rows that a meeting answered, each under its place in the batch. */
function rowsOf(answer: unknown): readonly (readonly [number, readonly unknown[]])[] {
  const rows: readonly unknown[] = Array.isArray(answer) ? answer : [];
  return rows.flatMap(row => {
    const [place, ...fields]: readonly unknown[] = Array.isArray(row) ? row : [];
    return typeof place === 'number' ? [[place, fields] as const] : [];
  });
}

/** What a message on the channel says; nothing where somebody else speaks there. */
function fieldsOf(message: string): readonly unknown[] {
  try {
    const fields: unknown = JSON.parse(message);
    return Array.isArray(fields) ? fields : [];
  } catch {
    return [];
  }
}
