import type { ServerConfig } from '#config';
import { isObject } from '#core';

/** Returns a client's capabilities as JSON text, with sampling added if the hub answers it in its place. */
export function withSampling(capabilities: string, { sampling }: Pick<ServerConfig, 'sampling'>) {
  if (sampling !== 'hub') return capabilities;
  const declared: unknown = JSON.parse(capabilities);
  const known = isObject(declared) ? declared : {};
  return isObject(known['sampling'])
    ? capabilities
    : JSON.stringify({ ...known, sampling: { tools: {} } });
}
