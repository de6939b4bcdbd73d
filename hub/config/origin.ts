import { hash } from 'node:crypto';
import { isObject } from '#core';
import type { ServerConfig } from './normalize.ts';
import { type Environment, expandServer, expandedKeys, secretsOfEntry } from './variables.ts';

/** Keys that define what an entry launches. Other keys may differ between machines, or contain secrets. */
const keys = ['package', 'image', 'command', 'args', 'transport', 'type', 'url'] as const;
/**
 * Keys added in later versions. The digest leaves them out if unset, so that entries without them keep their digest.
 */
const laterKeys = ['with', 'python', 'build', 'system_packages'] as const;

/**
 * Returns a digest of what an entry launches. Variables are not expanded, so the digest is equal on every machine, and
 * cannot be used to guess their values.
 */
export function originOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined;
  const said = [
    ...keys.map(key => (key === 'url' ? withoutQuery(entry[key]) : entry[key])),
    ...laterKeys.filter(key => key in entry).map(key => ({ [key]: entry[key] })),
  ];
  return hash('sha256', JSON.stringify(said)).slice(0, 32);
}

/** Adds the digest of the files that an image is built from, because the server runs them. */
export function withFiles(
  origin: string | undefined,
  { launch }: ServerConfig,
): string | undefined {
  const build = launch.kind === 'local' ? launch.build : undefined;
  if (origin === undefined || !build || 'fault' in build) return origin;
  return hash('sha256', `${origin} ${build.digest}`).slice(0, 32);
}

/** Returns a digest of an entry with its variables expanded, but not its secrets. */
export function entryDigestOf(written: unknown, env: Environment): string {
  const names = secretsOfEntry(written);
  const unread = new Map(names.map(name => [name, { value: `\${secret:${name}}` }]));
  const { value } = expandServer(written, [], env, unread);
  const launched = isObject(value) ? expandedKeys.map(key => [key, value[key]]) : [];
  return hash('sha256', JSON.stringify([originOf(value), launched]));
}

function withoutQuery(url: unknown): unknown {
  return typeof url === 'string' ? url.replace(/[?#][^]*/, '') : url;
}
