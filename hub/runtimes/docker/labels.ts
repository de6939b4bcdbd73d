/** Marks everything of one hub, so that the next run of it finds and removes what is left. */
export const hubLabel = 'io.agenthub.hub';
const serverLabel = 'io.agenthub.server';
/** Marks whatever any hub has made. */
export const managedLabel = 'io.agenthub.managed';
/** On images: which base they were built on, and from which package. */
export const baseLabel = 'io.agenthub.base';
export const packageLabel = 'io.agenthub.package';

type Owner = { readonly hubId: string; readonly hubName: string };

/** Labels of what belongs to one server. No value of its environment is among them. */
export function labelsOf(owner: Owner, server: string): Record<string, string> {
  return {
    [hubLabel]: owner.hubId,
    [serverLabel]: server,
    [managedLabel]: 'true',
  };
}

/**
 * Labels by which `docker compose -p <hubName>` and Docker Desktop take a container for one of the
 * project, so that `docker compose down --remove-orphans` removes it (seen with compose 2.40).
 */
export function composeLabelsOf(owner: Owner, server: string): Record<string, string> {
  return {
    'com.docker.compose.project': owner.hubName,
    // Compose would take a server named "redis" for its own service of that name, and replace it.
    'com.docker.compose.service': `mcp-${server}`,
    'com.docker.compose.oneoff': 'False',
    'com.docker.compose.container-number': '1',
    // Compose overlooks containers without a hash of their configuration, whatever it is.
    'com.docker.compose.config-hash': 'agenthub',
    // Without it `docker compose ls` prints a warning for each container.
    'com.docker.compose.project.config_files': '',
  };
}
