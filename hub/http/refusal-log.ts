import type { Clock, Log } from '#core';
import type { Refusal } from './guarded-request.ts';

export type RefusalLog = ReturnType<typeof createRefusalLog>;

type Refused = {
  readonly address: string | undefined;
  readonly method: string;
  readonly url: string;
  readonly refusal: Refusal;
};

/** Longer URLs and messages are cut: both contain what the client sent. */
const maxChars = 200;
/** Refusals of further addresses in the same second are counted only. */
const maxAddresses = 100;
const intervalMs = 1_000;

/** Logs refused requests, at most one line for an address in a second: a client can send thousands of them. */
export function createRefusalLog({
  log,
  clock,
}: {
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic'>;
}) {
  /** The addresses that have a line in this interval. */
  const seen = new Set<string>();
  let endsAt = 0;
  /** Refusals without a line of their own since the last line. */
  let unlogged = 0;
  return ({ address = 'unknown', method, url, refusal }: Refused): void => {
    const now = clock.monotonic();
    if (now >= endsAt) {
      seen.clear();
      endsAt = now + intervalMs;
    }
    if (seen.has(address) || seen.size >= maxAddresses) {
      unlogged++;
      return;
    }
    seen.add(address);
    log.warn(
      {
        address,
        method: cut(method),
        url: cut(url),
        status: refusal.status,
        ...(unlogged > 0 && { unlogged_before: unlogged }),
      },
      cut(refusal.message),
    );
    unlogged = 0;
  };
}

const cut = (text: string) => (text.length > maxChars ? `${text.slice(0, maxChars)}...` : text);
