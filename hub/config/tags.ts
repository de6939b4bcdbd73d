import { HubError } from '#core';
import type { Config } from './config.ts';

/**
 * The config with only the servers that have any of the tags (spec 5.1). Tags are compared as written,
 * in whatever language. Throws HUB_USAGE for a tag that no server has, naming those there are. Pure.
 */
export function withTags(config: Config, tags: readonly string[]): Config {
  const known = new Set(config.servers.flatMap(server => server.tags));
  const unknown = tags.filter(tag => !known.has(tag));
  if (unknown.length > 0)
    throw new HubError(
      'HUB_USAGE',
      `--tags: no server has the tag ${unknown.map(tag => JSON.stringify(tag)).join(', ')}. The config has: ${[...known].join(', ') || 'no tags'}`,
    );
  return {
    ...config,
    servers: config.servers.filter(server => server.tags.some(tag => tags.includes(tag))),
  };
}
