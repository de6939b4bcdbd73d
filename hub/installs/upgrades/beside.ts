import type { ServerConfig } from '#config';
import { volumesOf } from '#servers';

/** Suffix of the volumes that a trial uses instead of the server's. */
const suffix = '.trial';

/**
 * Returns the config for a trial of a new version while the old one runs. It has empty volumes of its own and read-only
 * mounts, so that two versions never write to the same data.
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

/** True for a volume that was created for a trial. */
export const isOfTrial = (name: string): boolean => name.endsWith(suffix);
