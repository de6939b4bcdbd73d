import { HubError } from '#core';
import type { Config } from './config.ts';
import type { ServerConfig } from './normalize.ts';

/** Returns the config with only the servers that have at least one of the tags (spec 5.1). Pure. */
export const withTags = (config: Config, tags: readonly string[]): Config => ({
  ...config,
  servers: config.servers.filter(server => hasAny(server, tags)),
});

/** Throws HUB_USAGE for a tag that no server has; the message lists the known tags. Pure. */
export function checkTags(config: Config, tags: readonly string[]): void {
  const known = new Set(config.servers.flatMap(server => server.tags));
  const unknown = tags.filter(tag => !known.has(tag)).map(tag => JSON.stringify(tag));
  if (unknown.length > 0)
    throw new HubError(
      'HUB_USAGE',
      `--tags: no server has the tag ${unknown.join(', ')}. The config has: ${[...known].join(', ') || 'no tags'}`,
    );
}

/** Throws HUB_REQUEST_INVALID if a server to be installed has none of the tags. Pure. */
export function requireTag(server: ServerConfig, tags: readonly string[]): void {
  if (hasAny(server, tags)) return;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `tags: this hub runs only servers with --tags ${tags.join(',')}, and ${server.name} has none of these tags. Add one of them to its "tags", or install it with a hub that was started without --tags`,
  );
}

const hasAny = (server: ServerConfig, tags: readonly string[]) =>
  server.tags.some(tag => tags.includes(tag));
