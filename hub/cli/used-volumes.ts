import type { ServerConfig } from '#config';
import type { HubObjects, Installation } from './needs.ts';

/**
 * Returns volumes of a hub that no server uses. Their names begin with the HUB_NAME of that hub, which may differ from
 * the one in this environment.
 */
export function unusedIn(
  { volumes }: HubObjects,
  installation: Pick<Installation, 'volumesOf'>,
  servers: readonly ServerConfig[],
): readonly string[] {
  const used = new Set(servers.flatMap(server => installation.volumesOf(server)));
  return volumes.flatMap(({ name, hubName }) => {
    // Without the label, the part after any "-" may be the name in the config.
    const parts = name.split('-');
    const names =
      hubName !== undefined && name.startsWith(`${hubName}-`)
        ? [name.slice(hubName.length + 1)]
        : parts.map((_, at) => parts.slice(at).join('-'));
    return names.some(own => isUsedBy(own, used, servers)) ? [] : name;
  });
}

/**
 * Returns a function that is true for a volume that a server of the config uses under this environment's HUB_NAME, even
 * if another hub created it.
 */
export function usedHere(
  { hubName, volumesOf }: Pick<Installation, 'hubName' | 'volumesOf'>,
  servers: readonly ServerConfig[],
): (volume: string) => boolean {
  const used = new Set(servers.flatMap(server => volumesOf(server)));
  return volume =>
    volume.startsWith(`${hubName}-`) && isUsedBy(volume.slice(hubName.length + 1), used, servers);
}

/** True if a server uses the volume. Volumes for folders that an image declares are called `<server>.<folder>`. */
const isUsedBy = (own: string, used: ReadonlySet<string>, servers: readonly ServerConfig[]) =>
  used.has(own) || servers.some(({ name }) => own.startsWith(`${name}.`));
