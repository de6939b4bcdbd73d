import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type Clock, type Log, backoffMs, durationText, errorCodeOf, messageOf } from '#core';
import { createDeadlines } from './deadlines.ts';

export type RedisOptions = {
  /** URL such as redis://user:password@host:6379/0. No message shows the password. Redis Cluster is not supported. */
  readonly url: string;
  /** Timeout of an answer in ms, after which the connection counts as broken; default 1 s. */
  readonly answerMs?: number;
  /** Maximum time in ms between two attempts to connect; default 2 s. */
  readonly maxRetryMs?: number;
};

/** Dependencies of the parts of the hub that use Redis. */
export type RedisNeeds = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
  /** Returns an id that is unique among all hubs. */
  readonly newId: () => string;
};

type Needs = Pick<RedisNeeds, 'clock' | 'random'> & {
  /** Called when the connection is established and subscribed to the channel. */
  up(): void;
  /** Called when the connection is lost, or when an attempt to connect failed. `hasRemedy`: the user has to act. */
  down(reason: string, hasRemedy: boolean): void;
  heard(message: string): void;
};

const firstRetryMs = 50;
const connectMs = 2_000;
/** Time in ms for Redis to close its side of a connection that the hub closes. */
const disconnectMs = 250;
/** Time in ms between two questions whether Redis has loaded its data. */
const loadingCheckMs = 1_000;
/** Message of the ioredis package for a command that timed out. */
const timedOut = 'Command timed out';
/** Beginning of the Redis client's error message for bytes that are not of the Redis protocol. */
const notRedis = 'Unknown RESP type';

const notRedisText = 'the server there is not Redis';

/** What the user can do about errors. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [new RegExp(notRedisText), 'Correct REDIS_URL'],
  [/\bNOAUTH\b/, 'Set its password in REDIS_URL'],
  [/\bWRONGPASS\b/, 'Correct the user and the password in REDIS_URL'],
  [/\bNOPERM\b/, 'Allow its user all commands on the keys and channels of the hub'],
  [/\bREADONLY\b/, 'Set REDIS_URL to the primary, to which the hub can write'],
  [/\bMISCONF\b/, 'Redis cannot save its data: its log says why'],
  [
    /\bWRONGTYPE\b/,
    'Another program uses the name of a key of the hub: remove that key, or name another database in REDIS_URL',
  ],
  [/\bOOM\b/, 'Raise its maxmemory, or let it evict keys (maxmemory-policy)'],
];

/** Error of a command that Redis refused, with a message for users. */
export class RedisRefusal extends Error {}

/** Returns the remedy for an error of Redis; undefined if none is known. */
const remedyOf = (error: string): string | undefined =>
  remedies.find(([words]) => words.test(error))?.[1];

/** Returns an error of Redis as a message for users, with its remedy if one is known. */
export function refusalText(address: string, error: string): string {
  const remedy = remedyOf(error);
  return `${address}: ${remedy === undefined ? error : `${error.replace(/\.$/, '')}. ${remedy}`}`;
}

/** Creates one connection to Redis 6 or later, which reconnects until it is closed. `open` connects it. */
export function createRedisLink(
  {
    url,
    channel,
    answerMs = 1_000,
    maxRetryMs = 2_000,
  }: RedisOptions & { readonly channel: string },
  needs: Needs,
) {
  const address = new URL(url).host;
  const lost = `the connection to ${address} was lost`;
  const late = `${address} did not answer within ${answerMs} ms`;
  let client: Redis | undefined;
  let isClosed = false;
  let isUp = false;
  let lastError: string | undefined;
  let attempts = 0;
  let retry: Disposable | undefined;
  /** Runs from the connection until Redis has loaded its data. */
  let loading: Disposable | undefined;
  /** Timer of the next question whether Redis has loaded its data. */
  let loadingCheck: Disposable | undefined;
  /** SHA-1 digests by the text of their script. Bounded, because all scripts are part of this program. */
  const digests = new Map<string, string>();
  const deadlines = createDeadlines(answerMs, needs.clock);

  function down(): void {
    isUp = false;
    const reason = lastError ?? lost;
    if (!isClosed) needs.down(reason, remedyOf(reason) !== undefined);
    lastError = undefined;
  }

  function reasonOf(error: unknown): string {
    const message = messageOf(error);
    if (message === timedOut) return late;
    if (message.startsWith(notRedis)) return refusalText(address, notRedisText);
    return isLoss(error) ? `${lost} (${message})` : refusalText(address, message);
  }

  function reconnect(redis: Redis, reason: string): void {
    lastError = reason;
    down();
    // Set again, because `down` cleared it: the close event that follows reports the same reason.
    lastError = reason;
    if (redis.status === 'ready') redis.disconnect(true);
  }

  /** Sends a command before it returns. Resolves with the answer of Redis. */
  function ask<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const redis = client;
    if (!redis || !isUp) {
      reject(new Error(`${address}: there is no connection`));
      return promise;
    }
    const answer = command(redis);
    const wait = deadlines.begin(() => {
      reconnect(redis, late);
      reject(new Error(`${address} did not answer`));
    });
    answer.then(
      value => {
        if (wait.end()) resolve(value);
      },
      (error: unknown) => {
        const isRefusal = error instanceof Error && error.name === 'ReplyError';
        if (wait.end()) reject(new (isRefusal ? RedisRefusal : Error)(reasonOf(error)));
      },
    );
    return promise;
  }

  /** Runs a script by its digest. Sends the text only if Redis does not know the digest. */
  async function run(redis: Redis, script: string, count: number, words: (string | number)[]) {
    const digest = digests.get(script) ?? hash('sha1', script);
    digests.set(script, digest);
    try {
      return await redis.evalsha(digest, count, ...words);
    } catch (error) {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      return redis.eval(script, count, ...words);
    }
  }

  async function connect(redis: Redis): Promise<void> {
    redis.options.commandTimeout = answerMs;
    await redis.connect().catch(() => undefined); // The client's events report the failure and start the next attempt.
  }

  /** Subscribes as soon as Redis has loaded its data. Redis counts as loaded if the hub's user may not use INFO. */
  async function begin(redis: Redis): Promise<void> {
    try {
      const info = await redis.info('persistence').catch((error: unknown) => {
        if (!/\bNOPERM\b/.test(messageOf(error))) throw error;
        return '';
      });
      if (/^loading:1/m.test(info)) {
        loadingCheck = needs.clock.after(loadingCheckMs, () => void begin(redis));
        return;
      }
    } catch (error) {
      // The close event reports a lost connection.
      if (redis.status === 'ready') reconnect(redis, reasonOf(error));
      return;
    }
    loading?.[Symbol.dispose]();
    await subscribe(redis);
  }

  async function subscribe(redis: Redis): Promise<void> {
    const { db = 0 } = redis.options;
    try {
      // If SELECT fails, the Redis client only reports the error, and continues in database 0.
      if (db > 0) await redis.select(db);
      await redis.subscribe(channel);
    } catch (error) {
      reconnect(redis, reasonOf(error));
      return;
    }
    if (isClosed || redis.status !== 'ready') return;
    // From here on, `deadlines` limits the commands: a timer of the client for each would cost more than the command.
    Object.assign(redis.options, { commandTimeout: undefined });
    attempts = 0;
    isUp = true;
    needs.up();
  }

  return {
    get isUp() {
      return isUp;
    },
    /** Loads the ioredis package and starts to connect. Failures are passed to `down`. */
    async open(): Promise<void> {
      // The package needs 20 MB of memory, which hubs without Redis save.
      const ioredis = await import('ioredis');
      if (isClosed) return;
      const redis = new ioredis.Redis(url, {
        lazyConnect: true,
        // Without a connection, commands fail at once instead of waiting for one.
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        autoResubscribe: false,
        maxRetriesPerRequest: 0,
        connectTimeout: connectMs,
        disconnectTimeout: disconnectMs,
        disableClientInfo: true,
        // `begin` does this check instead: ioredis writes a line to stderr if INFO is not allowed.
        enableReadyCheck: false,
        connectionName: 'agenthub',
        retryStrategy: null,
      });
      client = redis;
      redis.on('error', (error: Error) => (lastError = reasonOf(error)));
      redis.on('connect', () => {
        loading = needs.clock.after(connectMs, () => {
          lastError = `${address} is not ready after ${durationText(connectMs)}: it may be loading its data. It is used as soon as it is ready`;
          down();
        });
      });
      redis.on('close', () => {
        loading?.[Symbol.dispose]();
        loadingCheck?.[Symbol.dispose]();
        down();
      });
      redis.on('ready', () => void begin(redis));
      redis.on('message', (_channel: string, message: string) => needs.heard(message));
      redis.on('end', () => {
        if (isClosed) return;
        const backoff = { firstMs: firstRetryMs, maxMs: maxRetryMs, jitter: 0.5 };
        const delayMs = backoffMs(backoff, ++attempts, needs.random);
        retry = needs.clock.after(delayMs, () => void connect(redis));
      });
      void connect(redis);
    },
    /**
     * Runs a script. Rejects with a message for users: at once if there is no connection, or after `answerMs` without
     * an answer, in which case the connection is replaced, too.
     */
    evaluate: (script: string, keys: readonly string[], values: readonly (string | number)[]) =>
      ask(redis => run(redis, script, keys.length, [...keys, ...values])),
    /**
     * Sets a key with a time to live, unless it exists. Resolves with 0 if the key was set, otherwise with the
     * remaining time to live of the key in ms, at least 1. Rejects like `evaluate`.
     */
    lock: (key: string, token: string, leaseMs: number): Promise<number> =>
      ask(async redis => {
        const [taken, leftMs] = await Promise.all([
          redis.set(key, token, 'PX', leaseMs, 'NX'),
          redis.pttl(key),
        ]);
        return taken === null ? Math.max(1, leftMs) : 0;
      }),
    /** Resolves with the value of a key, or with undefined if there is none. Rejects like `evaluate`. */
    read: (key: string): Promise<string | undefined> =>
      ask(async redis => (await redis.get(key)) ?? undefined),
    async close(): Promise<void> {
      isClosed = true;
      isUp = false;
      retry?.[Symbol.dispose]();
      loading?.[Symbol.dispose]();
      loadingCheck?.[Symbol.dispose]();
      deadlines[Symbol.dispose]();
      const ended = Promise.withResolvers<void>();
      if (!client || client.status === 'end') ended.resolve();
      else client.once('end', () => ended.resolve());
      client?.disconnect();
      await ended.promise;
    },
  };
}

/** True if the peer closed the socket. Reading and writing report this with different codes. */
const isLoss = (error: unknown): boolean =>
  ['EPIPE', 'ECONNRESET'].includes(errorCodeOf(error) ?? '');
