import type { ServerConfig } from '#config';
import { isObject } from '#core';

/**
 * Returns the capabilities of a client as JSON text, with sampling added if the hub answers it in place of the client.
 */
export function withSampling(capabilities: string, { sampling }: Pick<ServerConfig, 'sampling'>) {
  if (sampling !== 'hub') return capabilities;
  const declared: unknown = JSON.parse(capabilities);
  const known = isObject(declared) ? declared : {};
  return isObject(known['sampling'])
    ? capabilities
    : JSON.stringify({ ...known, sampling: { tools: {} } });
}
