import { type Clock, messageOf } from '#core';
import { type RedisLinkEvents, createDeadlines, createRedisLink } from '#redis';

export type RedisClientOptions = {
  readonly url: string;
  readonly channel: string;
  /** All key names begin with this prefix. Every script gets it as its only key. */
  readonly prefix: string;
  /** No caller waits longer for an answer. */
  readonly reachMs: number;
  /** An answer that takes longer ends the connection; the client opens another one. */
  readonly answerMs: number;
  readonly maxRetryMs: number;
};

/** The answer of a script. Neither promise rejects; without an answer both give undefined. */
export type Answer<T> = {
  /** Waits for the answer for at most `reachMs`. */
  readonly inTime: () => Promise<T | undefined>;
  /** Waits for the answer until it arrives or the connection is lost. */
  readonly atLast: Promise<T | undefined>;
};

export type RedisClient = ReturnType<typeof createRedisClient>;

type Needs = RedisLinkEvents & {
  readonly clock: Clock;
  readonly random: () => number;
  /** Called for each failed question, with the script if Redis answered with an error, and for each late answer. */
  failed(reason: string, script?: string): void;
  /** Called for each answer within `reachMs`, with the first word of a script's answer. */
  answered(script: string | undefined, status: string | undefined): void;
};

const probeScript = `return { 'here' }`;
/** Interval of the probes while answers are late. */
const probeMs = 500;

/**
 * Redis for callers that cannot wait: after one late answer it sends no questions until Redis is quick again. `open`
 * connects it.
 */
export function createRedisClient(options: RedisClientOptions, needs: Needs) {
  const { prefix, reachMs, answerMs, maxRetryMs } = options;
  const { clock } = needs;
  const address = new URL(options.url).host;
  const link = createRedisLink(
    { url: options.url, channel: options.channel, answerMs, maxRetryMs },
    {
      clock,
      random: needs.random,
      heard: message => needs.heard(message),
      down: reason => needs.down(reason),
      up() {
        isLate = false;
        needs.up();
      },
    },
  );
  const deadlines = createDeadlines(reachMs, clock);
  let isLate = false;
  let probing: Disposable | undefined;

  /** Resolves with the answer to a question; with undefined if it failed. */
  async function answerTo<T>(
    question: Promise<T>,
    { script, statusOf }: { script?: string; statusOf?: (answer: T) => string | undefined },
  ): Promise<T | undefined> {
    const since = clock.monotonic();
    try {
      const answer = await question;
      if (clock.monotonic() - since <= reachMs) {
        isLate = false;
        needs.answered(script, statusOf?.(answer));
      }
      return answer;
    } catch (error) {
      needs.failed(messageOf(error), script);
      return undefined;
    }
  }

  function evaluate(
    script: string,
    values: readonly (string | number)[],
  ): Promise<readonly string[] | undefined> {
    const words = link.evaluate(script, [prefix], values).then(wordsOf);
    return answerTo(words, { script, statusOf: ([status]) => status });
  }

  function tell(script: string, values: readonly (string | number)[]): Answer<readonly string[]> {
    if (!link.isUp) return unanswered;
    const atLast = evaluate(script, values);
    return { atLast, inTime: () => (isLate ? nothing : withinReach(atLast)) };
  }

  function withinReach<T>(answer: Promise<T | undefined>): Promise<T | undefined> {
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const waiting = deadlines.begin(() => {
      resolve(undefined);
      needs.failed(`${address} did not answer within ${reachMs} ms`);
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

  /** Asks Redis again and again until an answer comes in time. A new connection ends the lateness too. */
  async function probe(): Promise<void> {
    if (!link.isUp || !isLate) return;
    await evaluate(probeScript, []);
    if (link.isUp && isLate) probeLater();
  }

  return {
    /** Whether questions are sent: there is a connection, and the last answer was not late. */
    get isAsked() {
      return link.isUp && !isLate;
    },
    open: () => link.open(),
    /** Runs a script for a caller that needs the answer. */
    ask: (script: string, values: readonly (string | number)[]) =>
      isLate ? unanswered : tell(script, values),
    /** Runs a script also while answers are late, for changes that other hubs must see. */
    tell,
    /** The value of a key; undefined if there is none or no answer within `reachMs`. Never rejects. */
    read: (key: string): Promise<string | undefined> =>
      isLate || !link.isUp ? nothing : withinReach(answerTo(link.read(key), {})),
    async close(): Promise<void> {
      deadlines[Symbol.dispose]();
      probing?.[Symbol.dispose]();
      await link.close();
    },
  };
}

const nothing = Promise.resolve(undefined);
const unanswered: Answer<never> = { inTime: () => nothing, atLast: nothing };

const wordsOf = (answer: unknown): readonly string[] =>
  Array.isArray(answer) ? answer.map(String) : [];
