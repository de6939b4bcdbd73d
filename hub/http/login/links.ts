import { createHash } from 'node:crypto';
import type { Clock } from '#core';

/** How long a login link works, in milliseconds. */
export const linkMs = 10 * 60_000;
/** Links that wait to be opened; with one more the oldest ends. */
const maxLinks = 20;

/** Links that log in to the dashboard, each once. */
export interface Links {
  /** The secret part of a new link. */
  create(): string;
  /** True once for each code that was created within the last `linkMs`. */
  redeem(code: string): boolean;
}

/** `newCode` gives a secret that nobody can guess. */
export function createLinks({
  clock,
  newCode,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly newCode: () => string;
}): Links {
  /** When each link ends, by the digest of its code: how long a look-up takes tells nothing of a code. */
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
