import type { ServerConfig } from '#config';
import { type Clock, backoffMs } from '#core';
import { createIntensity } from '#resilience';
import { awayCodeOf, isLasting, withoutName } from './failures.ts';
import type { ServerStatus } from './server.ts';

/** What becomes of a server that has ended or did not come up. */
export type Next = {
  readonly status: ServerStatus;
  /** How long until it is started again; undefined where it is given up. */
  readonly delayMs: number | undefined;
  /** It did something that counts as a restart: it was not just out of reach. */
  readonly counts: boolean;
};

/** Decides whether and when a server is started again, as long as somebody wants it to run. */
export interface Restarts {
  /** It has run for so long before it ended: after a stable while its restarts are counted afresh. */
  ran(durationMs: number): void;
  /** After this error, of which `why` is the message; `isClean` where it ended by itself, with code 0. */
  after(error: unknown, why: string, isClean: boolean): Next;
}

/** A server that has run for longer has its restarts forgotten. */
const restartWindowMs = 5 * 60_000;
const backoff = { firstMs: 500, maxMs: 30_000, jitter: 0.5 };
/** An engine is on this machine or near it: to ask whether it is back costs little. */
const engineBackoff = { ...backoff, maxMs: 2_000 };

/** Begins without any restart behind it. */
export function createRestarts(
  config: ServerConfig,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
): Restarts {
  const { name, maxRestarts, restart, startTimeoutMs } = config;
  // Starts that time out, and the waits between them, must all fall into the window, or a server
  // that never comes up would be tried for ever.
  const slowestMs = startTimeoutMs + backoff.maxMs;
  const counted = { maxRestarts, windowMs: restartWindowMs + maxRestarts * slowestMs };
  let intensity = createIntensity(counted, clock);
  let failures = 0;

  const giveUp = (why: string): Next => ({
    status: { state: 'failed', since: clock.now(), why },
    delayMs: undefined,
    counts: false,
  });

  return {
    ran(durationMs) {
      if (durationMs <= restartWindowMs) return;
      failures = 0;
      intensity = createIntensity(counted, clock);
    },
    after(error, why, isClean) {
      // What the operator must mend is not tried again by itself.
      if (isLasting(error)) return giveUp(why);
      failures++;
      const code = awayCodeOf(error);
      // One that has done its work is started again by the next call.
      if (isClean && restart !== 'permanent')
        return { status: { state: 'stopped', byHand: false }, delayMs: undefined, counts: false };
      // What is away is nothing the server did: it is tried for as long as it takes.
      if (!code && (restart === 'temporary' || !intensity.record())) {
        const given =
          restart === 'temporary'
            ? 'restarts are off ("restart_on_failure" and "restart" in its entry)'
            : `gave up after ${maxRestarts} ${maxRestarts === 1 ? 'restart' : 'restarts'}`;
        return giveUp(`${given}: ${withoutName(name, why)}`);
      }
      const bounds = code === 'HUB_ENGINE_UNREACHABLE' ? engineBackoff : backoff;
      const delayMs = backoffMs(bounds, failures, random);
      const since = clock.now();
      const until = since + delayMs;
      const due = clock.monotonic() + delayMs;
      return code
        ? { status: { state: 'unreachable', since, until, due, code, why }, delayMs, counts: false }
        : { status: { state: 'backing_off', until, due, why }, delayMs, counts: true };
    },
  };
}
