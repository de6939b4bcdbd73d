import { createHash } from 'node:crypto';
import { isObject } from '#core';

/**
 * The keys of an entry that say what is launched. Others say how, which may differ from machine to machine
 * (`cwd`, `mounts`, `resources`), or hold what is secret even as it is written (`env`, `headers`).
 */
const keys = ['package', 'image', 'command', 'args', 'transport', 'type', 'url'] as const;
/** Keys that came later: entries without them keep the digest that they had. */
const laterKeys = ['with', 'python'] as const;

/**
 * A digest of what an entry launches, as the files say it, before variables are filled in: the same on
 * every machine, and nobody who reads it can try out what a variable holds. The query of a `url` is left out.
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
