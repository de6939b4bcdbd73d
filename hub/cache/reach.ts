import { type Clock, messageOf } from '#core';
import { type RedisLinkEvents, createRedisLink } from '#redis';

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
  readonly isUp: boolean;
  open(): Promise<void>;
  /**
   * Runs a script on the keys. After an answer that was late nothing is asked until one has come in time
   * again, for which no call waits.
   */
  ask(script: string, values: readonly (string | number)[]): Question;
  /** As `ask`, for what others are to know: it is said after an answer that was late, too. */
  tell(script: string, values: readonly (string | number)[]): Question;
  close(): Promise<void>;
}

type Needs = RedisLinkEvents & {
  readonly clock: Clock;
  readonly random: () => number;
  /** Called for each question that was not answered in time, or with an error: then with its script. */
  failed(reason: string, script?: string): void;
  /** Called for each answer in time, before whoever asked has it. */
  answered(script: string, words: readonly string[]): void;
};

const probeScript = `return { 'here' }`;
/** So long after an answer that was late Redis is tried again. */
const probeMs = 500;

/** Closed as yet. */
export function createReach(options: ReachOptions, needs: Needs): Reach {
  const { keys, reachMs, answerMs, maxRetryMs } = options;
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
        retry?.[Symbol.dispose]();
        isLate = false;
        needs.up();
      },
    },
  );
  let isLate = false;
  let retry: Disposable | undefined;

  async function evaluate(
    script: string,
    values: readonly (string | number)[],
  ): Promise<readonly string[] | undefined> {
    try {
      return wordsOf(await link.evaluate(script, keys, values));
    } catch (error) {
      needs.failed(messageOf(error), script);
      return undefined;
    }
  }

  function tell(script: string, values: readonly (string | number)[]): Question {
    if (!link.isUp) return unanswered;
    const atLast = evaluate(script, values);
    return { atLast, inTime: isLate ? nothing : timely(script, atLast) };
  }

  /** Waits for an answer as long as it is in time, and looks into it where it is not. */
  async function timely(
    script: string,
    atLast: Promise<readonly string[] | undefined>,
  ): Promise<readonly string[] | undefined> {
    const late = Promise.withResolvers<undefined>();
    // One turn more: an answer that came while this process was busy is read in that turn.
    using _timer = clock.after(reachMs, () => setImmediate(late.resolve, undefined));
    let isHere = false;
    const here = atLast.then(answer => {
      isHere = true;
      return answer;
    });
    const answer = await Promise.race([here, late.promise]);
    if (answer) needs.answered(script, answer);
    if (isHere) return answer;
    needs.failed(`${address} did not answer within ${reachMs} ms`);
    if (!isLate) {
      isLate = true;
      void here.then(probe);
    }
    return undefined;
  }

  async function probe(): Promise<void> {
    if (!link.isUp) return;
    const since = clock.monotonic();
    const answer = await evaluate(probeScript, []);
    if (!link.isUp) return;
    if (answer && clock.monotonic() - since <= reachMs) {
      isLate = false;
      needs.answered(probeScript, answer);
    } else retry = clock.after(probeMs, () => void probe());
  }

  return {
    get isUp() {
      return link.isUp;
    },
    open: () => link.open(),
    ask: (script, values) => (isLate ? unanswered : tell(script, values)),
    tell,
    async close() {
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
