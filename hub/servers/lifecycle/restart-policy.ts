import type { ServerConfig } from '#config';
import { backoffMs } from '#core';
import { recordRestart } from '#resilience';
import { awayCodeOf, isLasting, loginErrorOf, withoutName } from '../failures.ts';
import type { ServerStatus } from '../server-types.ts';

/** Restarts and failures since the server was started or its config changed. */
export type RestartHistory = {
  readonly failures: number;
  /** Times of the restarts that count towards `max_restarts`, on the monotonic clock in ms. */
  readonly restartsMs: readonly number[];
};

/** How a start failed or a running instance ended. */
export type ServerFailure = {
  readonly error: unknown;
  /** The message of the error, with secrets redacted. */
  readonly why: string;
  /** True if the server exited by itself with code 0. */
  readonly isClean: boolean;
};

/** The time on both clocks in ms, and a random number from 0 to 1 for the jitter. */
export type Moment = Readonly<Record<'now' | 'monotonicMs' | 'random', number>>;

type RestartDecision = {
  readonly history: RestartHistory;
  readonly status: Extract<
    ServerStatus,
    { state: 'backing_off' | 'unreachable' | 'failed' | 'needs_login' | 'stopped' }
  >;
  /** Delay until the next start, in ms; undefined if the server is not restarted. */
  readonly delayMs: number | undefined;
};

export const noRestarts: RestartHistory = { failures: 0, restartsMs: [] };

/** A run longer than this clears the restart history, in ms. */
const stableMs = 5 * 60_000;
const backoff = { firstMs: 500, maxMs: 30_000, jitter: 0.5 };
/** Backoff for an unreachable Docker engine: it is on this machine or near it, so that it can be polled more often. */
const engineBackoff = { ...backoff, maxMs: 2_000 };

/** Returns the restart history after a run of `ranMs`. Pure. */
export const historyAfterRun = (history: RestartHistory, ranMs: number): RestartHistory =>
  ranMs > stableMs ? noRestarts : history;

/** Decides whether and when a server is restarted after a failure. Pure. */
export function decideRestart(
  config: Pick<ServerConfig, 'name' | 'maxRestarts' | 'restart' | 'startTimeoutMs'>,
  before: RestartHistory,
  { error, why, isClean }: ServerFailure,
  { now, monotonicMs, random }: Moment,
): RestartDecision {
  const { name, maxRestarts, restart, startTimeoutMs } = config;
  let history = before;
  const end = (status: RestartDecision['status']) => ({ history, status, delayMs: undefined });
  const giveUp = (reason: string) => end({ state: 'failed', since: now, why: reason });
  // A person must log in first: a missing login is neither a failure nor a reason to retry.
  if (loginErrorOf(error)) return end({ state: 'needs_login', since: now, why });
  // The operator must fix the cause first: a retry would fail in the same way.
  if (isLasting(error)) return giveUp(why);
  history = { ...before, failures: before.failures + 1 };
  // A server that exited with code 0 is started again by the next call.
  if (isClean && restart !== 'permanent') return end({ state: 'stopped', byHand: false });
  const code = awayCodeOf(error);
  // An unreachable engine, registry or host is not the server's fault: the start is retried without limit.
  if (!code) {
    if (restart === 'temporary')
      return giveUp(
        `restarts are off ("restart_on_failure" and "restart" in its entry): ${withoutName(name, why)}`,
      );
    // Starts that time out, and the delays between them, must all fall into the window; otherwise a server
    // that never comes up would be retried without limit.
    const windowMs = stableMs + maxRestarts * (startTimeoutMs + backoff.maxMs);
    const limit = { maxRestarts, windowMs };
    const { restartsMs, isAllowed } = recordRestart(before.restartsMs, monotonicMs, limit);
    history = { ...history, restartsMs };
    const restarts = maxRestarts === 1 ? 'restart' : 'restarts';
    const hint = isClean ? '. If it ends by itself when idle, set "restart": "transient"' : '';
    if (!isAllowed)
      return giveUp(`gave up after ${maxRestarts} ${restarts}: ${withoutName(name, why)}${hint}`);
  }
  const bounds = code === 'HUB_ENGINE_UNREACHABLE' ? engineBackoff : backoff;
  // An outage is not the server's failure, so it does not lengthen the delay after one.
  const attempts = code ? history.failures : history.restartsMs.length;
  const delayMs = backoffMs(bounds, attempts, () => random);
  const retry = { until: now + delayMs, due: monotonicMs + delayMs, why };
  return {
    history,
    status: code
      ? { state: 'unreachable', since: now, code, ...retry }
      : { state: 'backing_off', ...retry },
    delayMs,
  };
}
