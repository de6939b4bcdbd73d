import type { Settings } from './config.ts';
import type { Variables } from './variables.ts';

const mebibyte = 2 ** 20;
const bytes = { least: mebibyte, most: 64 * 1024 * mebibyte, whole: true } as const;

/** Reads the limits for all clients together. Invalid values are reported through `variables`. */
export function readLimits({ number }: Variables): Settings['limits'] {
  return {
    maxConnections: number('MAX_CONNECTIONS', { least: 1, most: 1_000_000, whole: true }) ?? 2_000,
    maxSessionsPerClient:
      number('MAX_SESSIONS_PER_CLIENT', { least: 1, most: 10_000, whole: true }) ?? 1_000,
    maxUnfinishedBytes: number('MAX_UNFINISHED_BYTES', bytes) ?? 32 * mebibyte,
    maxUnreadBytes: number('MAX_UNREAD_BYTES', bytes) ?? 32 * mebibyte,
  };
}
