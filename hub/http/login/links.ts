import { createHash } from 'node:crypto';
import type { Clock } from '#core';

/** How long a login link works, in milliseconds. */
export const linkMs = 10 * 60_000;
/** Maximum number of unused links; the oldest is dropped. */
const maxLinks = 20;

/** Links that log in to the dashboard, each once. */
export interface Links {
  /** The secret part of a new link. */
  create(): string;
  /** True once for each code that was created within the last `linkMs`. */
  redeem(code: string): boolean;
}

/** `newCode` returns an unguessable secret. */
export function createLinks({
  clock,
  newCode,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly newCode: () => string;
}): Links {
  /** Expiry of each link by the digest of its code, so that the time of a look-up reveals nothing. */
  const ends = new Map<string, number>();
  return {
    create() {
      const code = newCode();
      ends.set(digest(code), clock.monotonic() + linkMs);
      for (const oldest of ends.keys()) {
        if (ends.size <= maxLinks) break;
        ends.delete(oldest);
      }
      return code;
    },
    redeem(code) {
      const key = digest(code);
      const end = ends.get(key);
      ends.delete(key);
      return end !== undefined && clock.monotonic() < end;
    },
  };
}

const digest = (text: string) => createHash('sha256').update(text).digest('base64');
