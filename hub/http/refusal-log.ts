import type { AuditedRefusal } from '#audit';
import type { Clock, Log } from '#core';
import type { GuardRefusal } from './origins.ts';

/** Maximum length of URLs and messages in the log, in characters: both contain what the client sent. */
const maxChars = 400;
/**
 * Maximum number of addresses per second with a log line of their own. Refusals of further addresses are only counted.
 */
const maxAddresses = 100;
const intervalMs = 1_000;
/**
 * Maximum number of lines in an hour. Refused callers, such as other users of the machine, must not push older lines
 * out of the audit log.
 */
const maxLinesPerHour = 600;
const hourMs = 60 * 60_000;

type RefusedRequest = {
  readonly address: string | undefined;
  /** HTTP method. Absent: the connection was refused before its first request. */
  readonly method?: string;
  readonly url?: string;
  readonly refusal: GuardRefusal;
};

export type RefusalLogNeeds = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** Records a refused request in the audit log. Called for each log line about refused requests. */
  readonly recordRefusal: ((refusal: AuditedRefusal) => void) | undefined;
};

/**
 * Logs refused requests, at most one line per address and second, and 600 an hour: a client can send thousands of
 * requests.
 */
export function createRefusalLog({ log, clock, recordRefusal }: RefusalLogNeeds) {
  /** Addresses that have a log line in this second. */
  const seen = new Set<string>();
  let endsAt = 0;
  let hourEndsAt = 0;
  /** Number of lines in this hour. */
  let lines = 0;
  /** Number of refusals without a log line since the last line. */
  let unlogged = 0;
  return ({ address = 'unknown', method, url, refusal }: RefusedRequest): void => {
    const now = clock.monotonic();
    if (now >= endsAt) {
      seen.clear();
      endsAt = now + intervalMs;
    }
    if (now >= hourEndsAt) {
      lines = 0;
      hourEndsAt = now + hourMs;
    }
    const isFull = seen.size >= maxAddresses || lines >= maxLinesPerHour;
    if (isFull || seen.has(address)) return void unlogged++;
    seen.add(address);
    lines++;
    const earlier = unlogged > 0 && { unlogged_before: unlogged };
    const { status } = refusal;
    const request = { method: method && cut(method), url: url && cut(url) };
    const reason = cut(refusal.message);
    log.warn({ address, ...request, status, ...earlier }, reason);
    recordRefusal?.({
      address,
      method: request.method,
      path: request.url,
      status,
      reason,
      unlogged,
    });
    unlogged = 0;
  };
}

const cut = (text: string) => (text.length > maxChars ? `${text.slice(0, maxChars)}...` : text);
