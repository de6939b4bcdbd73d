import type { ServerConfig } from '#config';
import type { HubObjects, Installation } from './needs.ts';

/**
 * Volumes of this hub that none of the servers uses. Their names begin with the HUB_NAME of the hub that made them, which
 * may be set for the hub alone.
 */
export function unusedIn(
  { volumes }: HubObjects,
  installation: Pick<Installation, 'volumesOf'>,
  servers: readonly ServerConfig[],
): readonly string[] {
  const used = new Set(servers.flatMap(server => installation.volumesOf(server)));
  return volumes.flatMap(({ name, hubName }) => {
    // Without the label, each part after a "-" may be the name in the config.
    const parts = name.split('-');
    const names =
      hubName !== undefined && name.startsWith(`${hubName}-`)
        ? [name.slice(hubName.length + 1)]
        : parts.map((_, at) => parts.slice(at).join('-'));
    return names.some(own => isUsedBy(own, used, servers)) ? [] : name;
  });
}

/** Whether a server of the config uses a volume under the HUB_NAME here, whichever hub has made it. */
export function usedHere(
  { hubName, volumesOf }: Pick<Installation, 'hubName' | 'volumesOf'>,
  servers: readonly ServerConfig[],
): (volume: string) => boolean {
  const used = new Set(servers.flatMap(server => volumesOf(server)));
  return volume =>
    volume.startsWith(`${hubName}-`) && isUsedBy(volume.slice(hubName.length + 1), used, servers);
}

/** Volumes of folders that an image declares are called `<server>.<folder>`. */
const isUsedBy = (own: string, used: ReadonlySet<string>, servers: readonly ServerConfig[]) =>
  used.has(own) || servers.some(({ name }) => own.startsWith(`${name}.`));
