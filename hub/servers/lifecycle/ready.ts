import type { Clock, HubError } from '#core';
import type { Running, ServerStatus } from '../server-types.ts';
import type { ServerRecord } from './server-record.ts';

/** Calls wait for a restart that is due within this time, in milliseconds. */
const maxWaitMs = 5_000;

type Needs = {
  readonly clock: Clock;
  readonly record: ServerRecord;
  readonly running: () => Running | undefined;
  /** Starts the server, unless it is active. */
  readonly start: () => void;
};

/**
 * Starts the server if necessary, and resolves when it runs. Waits for a restart that is due soon, but no longer
 * than a call may take, and not for a second start after a failed one. Rejects with HubError. Without `isRefused`,
 * a failed server is started as well.
 */
export async function whenRunning(needs: Needs, isRefused: boolean): Promise<Running> {
  const { clock, record } = needs;
  const waitMs = Math.min(maxWaitMs, record.config.callTimeoutMs);
  let hasSeenStart = false;

  function refused(): HubError | undefined {
    hasSeenStart ||= record.status.state === 'starting';
    return !hasSeenStart && isBackSoon(record.status) ? undefined : record.refusal();
  }

  function isBackSoon(status: ServerStatus): boolean {
    if (status.state === 'stopping') return status.hasEnded;
    return 'due' in status && status.due - clock.monotonic() <= waitMs;
  }

  const first = isRefused ? refused() : undefined;
  if (first) throw first;
  const { promise, resolve, reject } = Promise.withResolvers<Running>();
  using _ = record.changed(() => {
    const running = needs.running();
    if (record.status.state === 'running' && running) return resolve(running);
    const error = refused();
    if (error) reject(error);
  });
  // The cleanup may take longer than the restart was expected to.
  using _late = clock.after(waitMs, () => {
    const error = hasSeenStart ? undefined : record.refusal();
    if (error && isRefused) reject(error);
  });
  needs.start();
  return await promise;
}
