import type { LaunchSpec } from '#runtimes';

/** Marks everything of one hub, so that the next run of it finds and removes what is left. */
export const hubLabel = 'io.agenthub.hub';
export const serverLabel = 'io.agenthub.server';
const instanceLabel = 'io.agenthub.instance';
/** What the container was launched from, as a digest that only its hub can make. */
export const digestLabel = 'io.agenthub.digest';
/** Marks whatever any hub has made. */
export const managedLabel = 'io.agenthub.managed';
/** On volumes: the name of the hub that made it, which is the same however the hub is started. */
export const nameLabel = 'io.agenthub.name';
/** On images: which base they were built on, and from which package. */
export const baseLabel = 'io.agenthub.base';
export const packageLabel = 'io.agenthub.package';

type Owner = { readonly hubId: string; readonly hubName: string };
type Launched = Pick<LaunchSpec, 'server' | 'instance' | 'digest'>;

/** Labels of what belongs to one server. No value of its environment is among them. */
export function labelsOf(
  owner: Owner,
  { server, instance, digest }: Launched,
): Record<string, string> {
  return {
    [hubLabel]: owner.hubId,
    [serverLabel]: server,
    ...(instance !== undefined && { [instanceLabel]: instance }),
    ...(digest !== undefined && { [digestLabel]: digest }),
    [managedLabel]: 'true',
  };
}

/**
 * Labels by which `docker compose -p <hubName>` and Docker Desktop take a container for one of the
 * project, so that `docker compose down --remove-orphans` removes it (seen with compose 2.40).
 */
export function composeLabelsOf(
  owner: Owner,
  { server, instance }: Launched,
): Record<string, string> {
  return {
    'com.docker.compose.project': owner.hubName,
    // Compose would take a server named "redis" for its own service of that name, and replace it.
    'com.docker.compose.service': `mcp-${server}`,
    'com.docker.compose.oneoff': 'False',
    // Two containers of one service differ by it; the one that is there for a moment only is none of them.
    'com.docker.compose.container-number': String(instance === undefined ? 1 : numberOf(instance)),
    // Compose overlooks containers without a hash of their configuration, whatever it is.
    'com.docker.compose.config-hash': 'agenthub',
    // Without it `docker compose ls` prints a warning for each container.
    'com.docker.compose.project.config_files': '',
  };
}

/** Instances are counted from 1 on, and the shared one comes before them. */
const numberOf = (instance: string) => (/^\d{1,6}$/.test(instance) ? Number(instance) + 1 : 0);
