import { type Clock, messageOf } from '#core';
import { type RedisLinkEvents, createDeadlines, createRedisLink } from '#redis';

export type ReachOptions = {
  readonly url: string;
  readonly channel: string;
  readonly keys: readonly string[];
  /** An answer that is not there by then is not waited for any more. */
  readonly reachMs: number;
  /** An answer that takes longer ends the connection, and another one is sought. */
  readonly answerMs: number;
  readonly maxRetryMs: number;
};

/** A question to Redis. */
export type Question = {
  /** The words of the answer; undefined where there was none within the time. Never rejects. */
  readonly inTime: Promise<readonly string[] | undefined>;
  /** As `inTime`, but however late. */
  readonly atLast: Promise<readonly string[] | undefined>;
};

/** Redis, as far as it answers at once. */
export interface Reach {
  /** Whether anything is asked: there is a connection, and the last answer was not late. */
  readonly isAsked: boolean;
  open(): Promise<void>;
  /**
   * Runs a script on the keys. After an answer that was late nothing is asked until one has come in time
   * again, for which no call waits.
   */
  ask(script: string, values: readonly (string | number)[]): Question;
  /** As `ask`, for what others are to know: it is said after an answer that was late, too. */
  tell(script: string, values: readonly (string | number)[]): Question;
  /**
   * What the first of the keys, which is a hash, has under a field: null where that is nothing, undefined where
   * there is no answer in time, as for `ask`. What is asked first is answered first.
   */
  read(field: string): Promise<string | null | undefined>;
  /** The time of Redis, in milliseconds since the epoch; undefined as for `read`. */
  time(): Promise<number | undefined>;
  close(): Promise<void>;
}

type Needs = RedisLinkEvents & {
  readonly clock: Clock;
  readonly random: () => number;
  /**
   * Called for each question that was not answered in time, or with an error: then with what was asked, a
   * script or the name of a command.
   */
  failed(reason: string, asked?: string): void;
  /** Called for each answer in time, before whoever asked has it, with its first word. */
  answered(asked: string, what?: string): void;
};

const probeScript = `return { 'here' }`;
/** So long after an answer that was late Redis is tried again. */
const probeMs = 500;

/** Closed as yet. */
export function createReach(options: ReachOptions, needs: Needs): Reach {
  const { keys, reachMs, answerMs, maxRetryMs } = options;
  const { clock } = needs;
  const [hash = ''] = keys;
  const address = new URL(options.url).host;
  const link = createRedisLink(
    { url: options.url, channel: options.channel, answerMs, maxRetryMs },
    {
      clock,
      random: needs.random,
      heard: message => needs.heard(message),
      down: reason => needs.down(reason),
      up() {
        retry?.[Symbol.dispose]();
        isLate = false;
        needs.up();
      },
    },
  );
  const deadlines = createDeadlines(reachMs, clock);
  let isLate = false;
  let retry: Disposable | undefined;

  function evaluate(
    script: string,
    values: readonly (string | number)[],
  ): Promise<readonly string[] | undefined> {
    return link.evaluate(script, keys, values).then(wordsOf, (error: unknown) => {
      needs.failed(messageOf(error), script);
      return undefined;
    });
  }

  function tell(script: string, values: readonly (string | number)[]): Question {
    if (!link.isUp) return unanswered;
    const atLast = evaluate(script, values);
    return { atLast, inTime: isLate ? nothing : timely(script, atLast, firstOf) };
  }

  /** Waits for an answer as long as it is in time, and looks into it where it is not. */
  function timely<T>(
    asked: string,
    answer: Promise<T | undefined>,
    whatOf?: (answer: T) => string | undefined,
  ): Promise<T | undefined> {
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const waiting = deadlines.begin(() => {
      resolve(undefined);
      needs.failed(`${address} did not answer within ${reachMs} ms`);
      if (isLate) return;
      isLate = true;
      void answer.then(probe, probe);
    });
    answer.then(
      told => {
        if (!waiting.end()) return;
        if (told !== undefined) needs.answered(asked, whatOf?.(told));
        resolve(told);
      },
      (error: unknown) => {
        needs.failed(messageOf(error), asked);
        if (waiting.end()) resolve(undefined);
      },
    );
    return promise;
  }

  async function probe(): Promise<void> {
    if (!link.isUp) return;
    const since = clock.monotonic();
    const answer = await evaluate(probeScript, []);
    if (!link.isUp) return;
    if (answer && clock.monotonic() - since <= reachMs) {
      isLate = false;
      needs.answered(probeScript, firstOf(answer));
    } else retry = clock.after(probeMs, () => void probe());
  }

  return {
    get isAsked() {
      return link.isUp && !isLate;
    },
    open: () => link.open(),
    ask: (script, values) => (isLate ? unanswered : tell(script, values)),
    tell,
    read(field) {
      if (isLate || !link.isUp) return nothing;
      return timely('HGET', link.read(hash, field));
    },
    time() {
      if (isLate || !link.isUp) return nothing;
      return timely('TIME', link.time());
    },
    async close() {
      deadlines[Symbol.dispose]();
      retry?.[Symbol.dispose]();
      await link.close();
    },
  };
}

const nothing = Promise.resolve(undefined);
const unanswered: Question = { inTime: nothing, atLast: nothing };

function wordsOf(answer: unknown): readonly string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

const firstOf = ([what]: readonly string[]) => what;
