import { messageOf } from '#core';
import {
  type RedisNeeds,
  type RedisOptions,
  RedisRefusal,
  createDeadlines,
  createRedisLink,
  refusalText,
} from '#redis';
import type { CacheStatus } from './exact-cache.ts';

export type RedisCacheOptions = RedisOptions & {
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** Prefix of all keys in Redis. Hubs with the same prefix share a cache. */
  readonly prefix: string;
  /** Maximum time in ms that a call waits for an answer of Redis; default 25 ms. */
  readonly reachMs?: number;
};

/** Options with their defaults. The prefix includes the version of the layout, and is each script's only key. */
type RedisCacheSettings = RedisOptions &
  Required<Omit<RedisCacheOptions, keyof RedisOptions>> & { readonly channel: string };

/** Answer of a script. Neither promise rejects: if there is no answer, both resolve with undefined. */
export type RedisAnswer<T> = {
  /** Waits for the answer for at most `reachMs`. */
  readonly inTime: () => Promise<T | undefined>;
  /** Waits for the answer until it arrives or the connection is lost. */
  readonly atLast: Promise<T | undefined>;
};

export type RedisClient = ReturnType<typeof createRedisClient>;

type Needs = Pick<RedisNeeds, 'clock' | 'log' | 'random'> & {
  up(): void;
  down(): void;
  heard(message: string): void;
  /** Called for each request that fails or is answered late. */
  failed(): void;
};

const probeScript = `return { 'here' }`;
/** Interval in ms at which Redis is probed while its answers are late. */
const probeMs = 500;

/**
 * Creates a Redis client for callers that cannot wait: after one late answer it sends no requests until Redis answers a
 * probe in time. `open` connects it.
 */
export function createRedisClient(options: RedisCacheSettings, needs: Needs) {
  const { prefix, reachMs } = options;
  const { clock, log } = needs;
  const address = new URL(options.url).host;
  const deadlines = createDeadlines(reachMs, clock);
  let status: CacheStatus = { kind: 'down', since: clock.now(), error: 'not connected yet' };
  let logged: Pick<CacheStatus, 'kind' | 'error'> | undefined;
  /** Commands that Redis refused when they were last sent. While there are none, any answer in time clears the error. */
  const refused = new Set<string>();
  let isLate = false;
  let probing: Disposable | undefined;

  const link = createRedisLink(options, {
    clock,
    random: needs.random,
    heard: message => needs.heard(message),
    down(reason, hasRemedy) {
      become('down', reason, hasRemedy);
      needs.down();
    },
    up() {
      isLate = false;
      refused.clear();
      become('up');
      needs.up();
    },
  });

  /** Sets the status. Logs a change of its kind, and while Redis is down each new reason that the user can remove. */
  function become(kind: CacheStatus['kind'], error?: string, hasRemedy = false): void {
    const since = status.kind === kind ? status.since : clock.now();
    status = error === undefined ? { kind, since } : { kind, since, error };
    if (logged?.kind === kind && !(hasRemedy && logged.error !== error)) return;
    logged = { kind, ...(error !== undefined && { error }) };
    if (kind === 'up') log.info({}, 'the exact cache is shared through Redis');
    else log.warn({ reason: error }, 'the exact cache is out of reach: Redis cannot be used');
  }

  function failed(error: string): void {
    needs.failed();
    if (status.kind === 'up') status = { ...status, error };
  }

  function refuse(reason: string, command: string): void {
    failed(reason);
    if (status.kind !== 'up') return;
    if (refused.size === 0) log.warn({ reason }, 'Redis refuses commands of the exact cache');
    refused.add(command);
  }

  /**
   * Resolves with the answer to a command, or with undefined if the command failed. `command` is undefined if it will
   * not be sent again: nothing would show that Redis accepts it.
   */
  async function answerTo<T>(
    question: Promise<T>,
    command: string | undefined,
    isAcceptance: (answer: T) => boolean = () => true,
  ): Promise<T | undefined> {
    const since = clock.monotonic();
    try {
      const answer = await question;
      if (clock.monotonic() - since > reachMs) return answer;
      isLate = false;
      const isAccepted = command !== undefined && isAcceptance(answer) && refused.delete(command);
      if (refused.size > 0 || status.kind !== 'up') return answer;
      if (isAccepted) log.info({}, 'Redis accepts the commands of the exact cache again');
      if ('error' in status) status = { kind: 'up', since: status.since };
      return answer;
    } catch (error) {
      if (error instanceof RedisRefusal && command !== undefined) refuse(error.message, command);
      else failed(messageOf(error));
      return undefined;
    }
  }

  function tell(
    script: string,
    values: readonly (string | number)[],
    isAcceptance?: (answer: readonly string[]) => boolean,
  ): RedisAnswer<readonly string[]> {
    if (!link.isUp) return unanswered;
    const words = link.evaluate(script, [prefix], values).then(wordsOf);
    const atLast = answerTo(words, script, isAcceptance);
    return { atLast, inTime: () => (isLate ? nothing : withinReach(atLast)) };
  }

  /** Runs a script that may not be sent again. Resolves with its answer, or with undefined if it failed. */
  function tellOnce(script: string, values: readonly string[]) {
    if (!link.isUp) return nothing;
    return answerTo(link.evaluate(script, [prefix], values).then(wordsOf), undefined);
  }

  function withinReach<T>(answer: Promise<T | undefined>): Promise<T | undefined> {
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const waiting = deadlines.begin(() => {
      resolve(undefined);
      failed(`${address} did not answer within ${reachMs} ms`);
      if (isLate) return;
      isLate = true;
      probeLater();
    });
    void answer.then(value => {
      if (waiting.end()) resolve(value);
    });
    return promise;
  }

  function probeLater(): void {
    probing?.[Symbol.dispose]();
    probing = clock.after(probeMs, () => void probe());
  }

  /** Probes Redis repeatedly until it answers in time. A new connection also ends this. */
  async function probe(): Promise<void> {
    if (!isLate) return;
    await tellOnce(probeScript, []);
    if (link.isUp && isLate) probeLater();
  }

  return {
    get status() {
      return status;
    },
    /** True if requests are sent: the client is connected, and the last answer was not late. */
    get isAsked() {
      return link.isUp && !isLate;
    },
    open: () => link.open(),
    /** Runs a script, unless answers are late: for callers that cannot wait. */
    ask: (script: string, values: readonly (string | number)[]) =>
      isLate ? unanswered : tell(script, values),
    /** Runs a script even while answers are late: for changes that other hubs must see. */
    tell,
    tellOnce,
    /** Resolves with the value of a key; undefined if there is none or no answer within `reachMs`. Never rejects. */
    read: (key: string): Promise<string | undefined> =>
      isLate || !link.isUp ? nothing : withinReach(answerTo(link.read(key), 'GET')),
    /** Records that Redis refused a part of a script, with the error of Redis. */
    refused: (error: string, script: string) => refuse(refusalText(address, error), script),
    async close(): Promise<void> {
      deadlines[Symbol.dispose]();
      probing?.[Symbol.dispose]();
      await link.close();
    },
  };
}

const nothing = Promise.resolve(undefined);
const unanswered: RedisAnswer<never> = { inTime: () => nothing, atLast: nothing };

const wordsOf = (answer: unknown): readonly string[] =>
  Array.isArray(answer) ? answer.map(String) : [];
