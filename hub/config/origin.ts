import { createHash } from 'node:crypto';
import { isObject } from '#core';

/**
 * Keys that define what is launched. The others define how, which may differ between machines (`cwd`, `mounts`,
 * `resources`), or may contain secrets (`env`, `headers`).
 */
const keys = ['package', 'image', 'command', 'args', 'transport', 'type', 'url'] as const;
/** Keys that were added later. They are left out if unset, so that entries without them keep their digest. */
const laterKeys = ['with', 'python'] as const;

/**
 * Digest of what an entry launches. It is computed before variables are expanded, so it is equal on every machine and
 * cannot be used to guess a variable's value. The query of `url` is left out.
 */
export function originOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined;
  const said = [
    ...keys.map(key => (key === 'url' ? withoutQuery(entry[key]) : entry[key])),
    ...laterKeys.filter(key => key in entry).map(key => ({ [key]: entry[key] })),
  ];
  return createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 32);
}

function withoutQuery(url: unknown): unknown {
  return typeof url === 'string' ? url.replace(/[?#][^]*/, '') : url;
}
