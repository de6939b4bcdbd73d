import type { Clock, Log } from '#core';

/** Failed logins of an address within `windowMs` before it must wait for the end of that time. */
export const maxFailures = 10;
export const windowMs = 60_000;
/** Maximum number of addresses; the oldest is forgotten. */
const maxAddresses = 1_000;

/** The credential of a login. */
export type Way = 'link' | 'token' | 'key';

/** Counts and logs failed logins by address. */
export interface Throttle {
  /** How long an address must wait, in milliseconds; 0 if it need not. */
  waitMs(address: string): number;
  failed(address: string, way: Way): void;
}

/**
 * Each failure is logged until the address must wait, so that an address adds at most `maxFailures` lines
 * in a minute to the log.
 */
export function createThrottle({
  clock,
  log,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}): Throttle {
  const failures = new Map<string, { count: number; readonly until: number }>();

  /** The failures of an address that still count. */
  function recent(address: string) {
    const found = failures.get(address);
    if (found && found.until > clock.monotonic()) return found;
    failures.delete(address);
    return undefined;
  }

  return {
    waitMs(address) {
      const found = recent(address);
      return found && found.count >= maxFailures ? found.until - clock.monotonic() : 0;
    },
    failed(address, way) {
      const found = recent(address) ?? { count: 0, until: clock.monotonic() + windowMs };
      found.count++;
      failures.set(address, found);
      for (const oldest of failures.keys()) {
        if (failures.size <= maxAddresses) break;
        failures.delete(oldest);
      }
      if (found.count > maxFailures) return;
      log.warn(
        { address, way, failures: found.count },
        found.count < maxFailures
          ? 'a login failed'
          : 'a login failed: this address must wait for a minute',
      );
    },
  };
}
