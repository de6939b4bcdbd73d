import { HubError } from '#core';
import { show } from './refusal.ts';
import type { HubIdentity } from './schema.ts';

export type BrokerOptions = HubIdentity & {
  /** Path of the socket that the broker listens on, in a folder shared only with the hub. */
  readonly socketPath: string;
  readonly enginePath: string;
  /** Folders on the engine's machine below which servers may mount folders. Empty by default. */
  readonly mountRoots: readonly string[];
  /** Hosts of the registries from which images may be pulled. */
  readonly registries: readonly string[];
  readonly imagesDir: string;
};

/** Reads the broker's options from environment variables. Throws HUB_CONFIG_INVALID with a remedy. */
export function readBrokerOptions(
  env: Readonly<Record<string, string | undefined>>,
  imagesDir: string,
): BrokerOptions {
  const read = (name: string, allowed: RegExp, expected: string, fallback?: string): string => {
    const value = env[name] || fallback;
    if (value !== undefined && allowed.test(value)) return value;
    const given = value === undefined ? 'is not set' : `is ${show(value)}`;
    throw new HubError('HUB_CONFIG_INVALID', `${name} ${given}. Set it to ${expected}`);
  };
  const path = /^\/[^\0]+$/;
  const shared = 'an absolute path in a folder shared with the hub';
  const engines = "the absolute path of the engine's socket";
  const id = 'the HUB_ID of the hub: up to 64 small letters, digits, "_", "." and "-"';
  const volume = 'the name of the volume with the data of the hub';
  const name = 'the HUB_NAME of the hub: up to 32 small letters, digits, "_" and "-"';
  return {
    socketPath: read('BROKER_SOCKET', path, shared, '/run/agenthub/docker.sock'),
    enginePath: read('DOCKER_SOCKET', path, engines, '/var/run/docker.sock'),
    hubId: read('HUB_ID', /^[a-z0-9][a-z0-9_.-]{0,63}$/, id),
    ...(env['DATA_VOLUME'] && {
      dataVolume: read('DATA_VOLUME', /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$/, volume),
    }),
    agentNetwork: read(
      'DOCKER_NETWORK',
      /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$/,
      'the DOCKER_NETWORK of the hub: up to 64 letters, digits, "_", "." and "-"',
      'agent-host-net',
    ),
    hubName: read('HUB_NAME', /^[a-z0-9][a-z0-9_-]{0,31}$/, name, 'agenthub'),
    mountRoots: splitList(env['BROKER_MOUNT_ROOTS']),
    registries: readRegistries(env['BROKER_REGISTRIES']),
    imagesDir,
  };
}

/** The registries of most public MCP server images. */
const defaultRegistries =
  'docker.io ghcr.io quay.io mcr.microsoft.com registry.gitlab.com public.ecr.aws'.split(' ');

const hostPattern = /^(?:[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** Splits a comma-separated list. */
const splitList = (text = ''): readonly string[] =>
  text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '');

/** Parses a list of registry hosts. Default: `defaultRegistries`. Throws HUB_CONFIG_INVALID for an invalid host. */
function readRegistries(text: string | undefined): readonly string[] {
  const names = splitList(text?.toLowerCase());
  const bad = names.find(name => !hostPattern.test(name));
  if (bad !== undefined)
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `AGENTHUB_REGISTRIES, which is BROKER_REGISTRIES here: ${show(bad)} is not a registry. ` +
        'Name hosts such as ghcr.io or registry.example:5000, with commas between them',
    );
  return names.length === 0 ? defaultRegistries : names;
}
