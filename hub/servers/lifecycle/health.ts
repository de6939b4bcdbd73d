import { type Clock, type Log, messageOf } from '#core';

/** The health of a running server. */
export type Health = {
  /** Time of the last successful check, in milliseconds since the epoch; undefined before the first. */
  readonly at: number | undefined;
  readonly latencyMs: number | undefined;
  /** Number of failed checks since the last successful check. */
  readonly misses: number;
};

type HealthNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a random number from 0 to 1, which spreads the checks of servers that started together. */
  readonly random: () => number;
  /** Sends the check: MCP `ping`, or `server/discover` of the stateless revision. */
  readonly ask: (timeoutMs: number) => Promise<unknown>;
  /** True if the server may be silent because it works on a call. */
  readonly isAtWork: () => boolean;
  /** Called once, after `maxMisses` failed checks in a row. */
  readonly dead: (why: string) => void;
};

/** Failed checks in a row after which a server is considered dead. */
export const maxMisses = 3;
const longestAnswerMs = 10_000;

/** Checks a server at intervals until disposed. A failed check does not count while the server works on a call. */
export function watchHealth(options: { readonly intervalMs: () => number }, needs: HealthNeeds) {
  const { clock, log } = needs;
  let health: Health = { at: undefined, latencyMs: undefined, misses: 0 };
  let isOver = false;
  let timer: Disposable | undefined;

  function later(delayMs: number): void {
    timer = clock.after(delayMs, () => void check());
  }

  async function check(): Promise<void> {
    timer = undefined;
    const since = clock.monotonic();
    const intervalMs = options.intervalMs();
    const answerMs = Math.min(intervalMs, longestAnswerMs);
    let misses = 0;
    try {
      await needs.ask(answerMs);
      if (isOver) return;
      health = { at: clock.now(), latencyMs: clock.monotonic() - since, misses };
    } catch (error) {
      if (isOver) return;
      misses = needs.isAtWork() ? health.misses : health.misses + 1;
      health = { ...health, misses };
      log.debug({ misses, error: messageOf(error) }, 'a health check failed');
    }
    if (misses < maxMisses) return later(misses > 0 ? Math.min(intervalMs, answerMs) : intervalMs);
    isOver = true;
    needs.dead(
      `it did not answer ${maxMisses} times in a row, each within ${answerMs / 1000} s, and was ended`,
    );
  }

  const begin = () => later(options.intervalMs() * (0.5 + needs.random() / 2));
  begin();
  return {
    /** Applies a changed check interval at once. */
    retime(): void {
      // A check that is running schedules the next one by the new interval.
      if (!timer) return;
      timer[Symbol.dispose]();
      begin();
    },
    get health(): Health {
      return health;
    },
    [Symbol.dispose](): void {
      isOver = true;
      timer?.[Symbol.dispose]();
    },
  };
}
