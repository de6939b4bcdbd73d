import type { DockerTarget, LaunchSpec } from '#runtimes';
import type { Way } from '../egress/way.ts';
import { hardening, openStreams } from './hardening.ts';
import {
  type ContainerOwner,
  composeLabelsOf,
  hostnameOf,
  labelsOf,
  nameLabel,
  ownLabels,
} from './labels.ts';

type Launched = Pick<LaunchSpec, 'server' | 'instance'>;

/** Fields of an image that a container depends on. */
export type Image = {
  readonly reference: string;
  /** Content digest of the image, its id on the engine. */
  readonly id: string;
  /** User of the image; empty for root. */
  readonly user: string;
  /** Folders that the image declares with `VOLUME`, as written. */
  readonly volumes: readonly string[];
  readonly entrypoint: readonly string[];
  /** Arguments of the entrypoint. */
  readonly command: readonly string[];
  /** Environment variables, as `NAME=value`. */
  readonly env: readonly string[];
};

const home = '/home/mcp';
const unprivileged = '65532:65532';

/** Returns the name of a container. Instances have a dot in their names, which names of servers do not contain. */
export function nameOf(owner: ContainerOwner, { server, instance }: Launched): string {
  return `${owner.hubName}-${server}${instance === undefined ? '' : `.${instance}`}`;
}

/** Returns the launch spec of a temporary container of a server, whose output is not read. */
export const temporarySpec = (
  server: string,
  instance: string,
  target: DockerTarget,
): LaunchSpec => ({ server, instance, target, env: {}, maxLineBytes: 0, maxWaitingBytes: 0 });

/** Returns the name of a container's network. */
export const networkNameOf = (owner: ContainerOwner, spec: LaunchSpec): string =>
  (spec.target.kind === 'docker' ? spec.target.networkName : undefined) ?? nameOf(owner, spec);

/** Returns the name of a volume of this hub on the engine. */
export const volumeName = (
  owner: Pick<ContainerOwner, 'hubName'>,
  { name }: DockerTarget['volumes'][number],
): string => `${owner.hubName}-${name}`;

/**
 * Returns the body of `POST /containers/create`, as strict as the spec allows. `scratch`: further folders that get a
 * tmpfs.
 */
export function createOptions(
  owner: ContainerOwner,
  spec: LaunchSpec,
  target: DockerTarget,
  image: Image,
  scratch: readonly string[] = [],
  way?: Way,
) {
  const { command, args, workingDirectory } = target;
  return {
    Image: image.reference,
    Hostname: hostnameOf(spec.server),
    User: userOf(target, image),
    Env: Object.entries({ HOME: home, ...way?.env, ...spec.env }).map(
      ([key, value]) => `${key}=${value}`,
    ),
    // A command in the spec replaces the entrypoint of the image together with its arguments.
    ...(command !== undefined && { Entrypoint: [command] }),
    ...((command !== undefined || args.length > 0) && { Cmd: [...args] }),
    ...(workingDirectory !== undefined && { WorkingDir: workingDirectory }),
    ...openStreams,
    // Disables the health check of the image: the hub checks the server itself.
    Healthcheck: { Test: ['NONE'] },
    Labels: { ...labelsOf(owner, spec), ...composeLabelsOf(owner, spec) },
    HostConfig: {
      ...hostConfig(owner, spec, target, tmpfs(target, image, scratch)),
      ...(way && way.extraHosts.length > 0 && { ExtraHosts: way.extraHosts }),
    },
  };
}

function hostConfig(
  owner: ContainerOwner,
  spec: LaunchSpec,
  target: DockerTarget,
  Tmpfs: Record<string, string>,
) {
  const { limits } = target;
  return {
    ...hardening,
    Memory: limits.memoryBytes,
    // Equal to Memory, so that the container has no swap.
    MemorySwap: limits.memoryBytes,
    NanoCpus: Math.round(limits.cpus * 1e9),
    PidsLimit: limits.pids,
    ...(limits.fileBytes !== undefined && {
      Ulimits: [{ Name: 'fsize', Soft: limits.fileBytes, Hard: limits.fileBytes }],
    }),
    NetworkMode: target.network === 'none' ? 'none' : networkNameOf(owner, spec),
    Tmpfs,
    LogConfig:
      target.logs === 'none'
        ? { Type: 'none', Config: {} }
        : { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
    Mounts: mounts(owner, target),
  };
}

/**
 * Returns the folders that every server may write to. Paths with a mount are skipped: the engine refuses two mounts on
 * one path.
 */
function tmpfs(
  target: DockerTarget,
  image: Image,
  scratch: readonly string[],
): Record<string, string> {
  const mounted = [...target.mounts, ...target.volumes, ...(target.volumeFolders ?? [])];
  const taken = new Set(mounted.map(mount => mount.target));
  const options = `rw,nosuid,nodev,noexec,size=${target.limits.scratchBytes},mode=1777`;
  // Programs expect to own their data folder. For a user name, the uid is unknown, but the folder is world-writable.
  const [, uid, gid] = /^(\d+)(?::(\d+))?$/.exec(userOf(target, image)) ?? [];
  const own = `${uid === undefined ? '' : `,uid=${uid}`}${gid === undefined ? '' : `,gid=${gid}`}`;
  return Object.fromEntries([
    ...['/tmp', home].filter(path => !taken.has(path)).map(path => [path, options]),
    ...scratch.map(path => [path, options + own]),
    ...(target.programs ? [[target.programs.path, withPrograms(target.programs)]] : []),
  ]);
}

const withPrograms = ({ bytes }: { readonly bytes: number }) =>
  `rw,nosuid,nodev,exec,size=${bytes},mode=1777`;

const mounts = (owner: ContainerOwner, target: DockerTarget) => [
  // The engine refuses a missing source; the older `Binds` would create it as a folder of root.
  ...target.mounts.map(mount => ({
    Type: 'bind',
    Source: mount.source,
    Target: mount.target,
    ReadOnly: mount.readOnly,
  })),
  ...target.volumes.map(volume => ({
    Type: 'volume',
    Source: volumeName(owner, volume),
    Target: volume.target,
    ReadOnly: false,
    VolumeOptions: { Labels: { ...ownLabels(owner), [nameLabel]: owner.hubName } },
  })),
  ...(target.volumeFolders ?? []).map(({ volume, path, target: at }) => ({
    Type: 'volume',
    Source: volume,
    Target: at,
    ReadOnly: false,
    // NoCopy: the engine copies no content of the image into the folder.
    VolumeOptions: { NoCopy: true, Subpath: path },
  })),
];

/**
 * Returns the user of the config entry, otherwise the user of the image if it is a number other than 0. The files of
 * the image could map a user name to root, so an unprivileged user replaces it. A number without a group gets the group
 * of the same number: the engine would use a group from the files of the image, or root.
 */
export function userOf(target: DockerTarget, image: Image): string {
  if (target.user !== undefined) return /^\d+$/.test(target.user) ? both(target.user) : target.user;
  const [, user, group = '0'] = /^([1-9]\d{0,8})(?::(\d{1,9}))?$/.exec(image.user) ?? [];
  if (user === undefined) return unprivileged;
  return Number(group) === 0 ? both(user) : image.user;
}

const both = (number: string) => `${number}:${number}`;
