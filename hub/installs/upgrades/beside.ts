import type { ServerConfig } from '#config';
import { volumesOf } from '#servers';

/** The suffix of the volumes that a trial uses in place of those of the server. */
const suffix = '.trial';

/**
 * The config with which a new version is tried out while the old one runs: with empty volumes of its own instead of the
 * server's, and mounts that it can only read. Nothing that the old version works on is written by two at once.
 */
export function besideOf(config: ServerConfig): ServerConfig {
  const { launch } = config;
  if (launch.kind === 'remote') return config;
  const volumes = volumesOf(config).map(({ name, target }) => ({
    name: `${name}${suffix}`,
    target,
  }));
  const mounts = launch.sandbox.mounts.map(mount => ({ ...mount, readOnly: true }));
  return { ...config, launch: { ...launch, sandbox: { ...launch.sandbox, volumes, mounts } } };
}

/** True for the name of a volume that was created for a trial. */
export const isOfTrial = (name: string): boolean => name.endsWith(suffix);
