import { HubError } from '#core';
import type { BrokerOptions } from './broker.ts';
import { readRegistries } from './registries.ts';
import { show } from './target.ts';

/**
 * Reads the broker's options from environment variables. Throws HUB_CONFIG_INVALID with variable, value and
 * remedy.
 */
export function readBrokerOptions(
  env: Readonly<Record<string, string | undefined>>,
  imagesDir: string,
): BrokerOptions {
  const read = (name: string, allowed: RegExp, what: string, fallback?: string): string => {
    const value = env[name] || fallback;
    if (value !== undefined && allowed.test(value)) return value;
    const given = value === undefined ? 'is not set' : `is ${show(value)}`;
    throw new HubError('HUB_CONFIG_INVALID', `${name} ${given}. Set it to ${what}`);
  };
  const path = /^\/[^\0]+$/;
  return {
    socketPath: read(
      'BROKER_SOCKET',
      path,
      'an absolute path in a folder shared with the hub',
      '/run/agenthub/docker.sock',
    ),
    enginePath: read(
      'DOCKER_SOCKET',
      path,
      "the absolute path of the engine's socket",
      '/var/run/docker.sock',
    ),
    hubId: read(
      'HUB_ID',
      /^[a-z0-9][a-z0-9_.-]{0,63}$/,
      'the HUB_ID of the hub: up to 64 small letters, digits, "_", "." and "-"',
    ),
    hubName: read(
      'HUB_NAME',
      /^[a-z0-9][a-z0-9_-]{0,31}$/,
      'the HUB_NAME of the hub: up to 32 small letters, digits, "_" and "-"',
      'agenthub',
    ),
    mountRoots: (env['BROKER_MOUNT_ROOTS'] ?? '')
      .split(',')
      .map(root => root.trim())
      .filter(root => root !== ''),
    registries: readRegistries(env['BROKER_REGISTRIES']),
    imagesDir,
  };
}
