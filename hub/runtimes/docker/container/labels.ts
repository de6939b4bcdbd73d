import type { LaunchSpec } from '#runtimes';

/** The hub that owns a container. */
export type ContainerOwner = {
  /** Identifies the containers of this hub on a shared engine. */
  readonly hubId: string;
  /** Prefix of the names of containers, networks and volumes, and the name of their compose project. */
  readonly hubName: string;
};

/** Label on all objects of a hub, so that its next run finds and removes leftovers. */
export const hubLabel = 'io.agenthub.hub';
export const serverLabel = 'io.agenthub.server';
export const instanceLabel = 'io.agenthub.instance';
/** Keyed digest of the launch spec. Only the hub that launched the container can compute it. */
export const digestLabel = 'io.agenthub.digest';
/** Label on all objects of all hubs. */
export const managedLabel = 'io.agenthub.managed';
/** Label on volumes: name of the hub, which is the same however the hub is started. */
export const nameLabel = 'io.agenthub.name';
/** Labels on images: the base and the package of the build. */
export const baseLabel = 'io.agenthub.base';
export const packageLabel = 'io.agenthub.package';

type Launched = Pick<LaunchSpec, 'server' | 'instance' | 'digest'>;

/** Labels of every object of a hub. */
export const ownLabels = ({ hubId }: Pick<ContainerOwner, 'hubId'>) => ({
  [hubLabel]: hubId,
  [managedLabel]: 'true',
});

/** Labels of the objects of a server. They contain no values of its environment. */
export const labelsOf = (owner: ContainerOwner, { server, instance, digest }: Launched) => ({
  ...ownLabels(owner),
  [serverLabel]: server,
  ...(instance !== undefined && { [instanceLabel]: instance }),
  ...(digest !== undefined && { [digestLabel]: digest }),
});

/** The prefix avoids collisions: compose would replace a server with the name of one of its own services. */
const serviceNameOf = (server: string): string => `mcp-${server}`;

/** Maximum length of a host name. Linux takes at most 64 bytes. */
const maxHostname = 63;

/**
 * Returns the host name of a server's containers. By default it is the container id, and a server that writes its host
 * name into descriptions of tools would then have other definitions in each container.
 */
export const hostnameOf = (server: string): string => serviceNameOf(server).slice(0, maxHostname);

/**
 * Labels that make a container part of the compose project <hubName>: Docker Desktop groups it, and
 * `docker compose down --remove-orphans` removes it (tested with compose 2.40).
 */
export const composeLabelsOf = (owner: ContainerOwner, { server, instance }: Launched) => ({
  'com.docker.compose.project': owner.hubName,
  'com.docker.compose.service': serviceNameOf(server),
  'com.docker.compose.oneoff': 'False',
  // Distinguishes the containers of a service. The temporary container for image volumes has 0.
  'com.docker.compose.container-number': String(instance === undefined ? 1 : numberOf(instance)),
  // Compose ignores containers without a config hash. Any value will do.
  'com.docker.compose.config-hash': 'agenthub',
  // Without this label, `docker compose ls` prints a warning for each container.
  'com.docker.compose.project.config_files': '',
});

/**
 * Returns the container number of an instance. Instances of sessions, numbered from 1, come after the shared instance.
 */
const numberOf = (instance: string) => (/^\d{1,6}$/.test(instance) ? Number(instance) + 1 : 0);

/** Shortens a container's id, as `docker ps` does. */
export const shortId = (id: string): string => id.slice(0, 12);
