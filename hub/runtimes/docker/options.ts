import type { ContainerCreateOptions, HostConfig } from 'dockerode';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import { composeLabelsOf, hubLabel, labelsOf, managedLabel, nameLabel } from './labels.ts';

type MountBody = {
  readonly Type: 'bind' | 'volume';
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly: boolean;
  readonly VolumeOptions?: { readonly Labels: Readonly<Record<string, string>> };
};

/** The body of `POST /containers/create`; dockerode's type wants more of a mount than the engine does. */
export type CreateBody = Omit<ContainerCreateOptions, 'HostConfig'> & {
  readonly HostConfig: Omit<HostConfig, 'Mounts'> & { readonly Mounts: readonly MountBody[] };
};

/** Which hub a container is made for. */
export type Owner = {
  /** Tells this hub's containers from those of any other on the same engine. */
  readonly hubId: string;
  /** The prefix of the names of containers, networks and volumes. */
  readonly hubName: string;
};

type Launched = Pick<LaunchSpec, 'server' | 'instance'>;

/** What the body is made from, besides the spec. */
export type Image = {
  readonly reference: string;
  /** The digest of its contents. */
  readonly id: string;
  /** The user that the image names; empty for root. */
  readonly user: string;
  /** The folders that it declares with `VOLUME`, as written. */
  readonly volumes: readonly string[];
};

const home = '/home/mcp';
const unprivileged = '65532:65532';

/**
 * The name of a server's container, and of its network. No server has a dot in its name, so that none is
 * called like an instance of another.
 */
export function nameOf(owner: Owner, { server, instance }: Launched): string {
  return `${owner.hubName}-${server}${instance === undefined ? '' : `.${instance}`}`;
}

/** The name of a volume of this hub. */
export const volumeName = (
  owner: Pick<Owner, 'hubName'>,
  { name }: DockerTarget['volumes'][number],
): string => `${owner.hubName}-${name}`;

/**
 * The body of `POST /containers/create` for a server. Everything is at its strictest; what loosens
 * it is in the spec, key by key. `scratch` are more folders that it may write to until it ends. Pure.
 */
export function createOptions(
  owner: Owner,
  spec: LaunchSpec,
  target: DockerTarget,
  image: Image,
  scratch: readonly string[] = [],
): CreateBody {
  const { command, args, workingDirectory } = target;
  return {
    Image: image.reference,
    User: userOf(target, image),
    Env: Object.entries({ HOME: home, ...spec.env }).map(([key, value]) => `${key}=${value}`),
    // The image's own arguments go with its own entrypoint: neither is kept where the spec has one.
    ...(command !== undefined && { Entrypoint: [command] }),
    ...((command !== undefined || args.length > 0) && { Cmd: [...args] }),
    ...(workingDirectory !== undefined && { WorkingDir: workingDirectory }),
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    // The hub's end may close without ending the server: it is stopped, and may be attached to again.
    StdinOnce: false,
    Tty: false,
    // The hub asks the server itself; a check of the image would only take its time.
    Healthcheck: { Test: ['NONE'] },
    Labels: { ...labelsOf(owner, spec), ...composeLabelsOf(owner, spec) },
    HostConfig: hostConfig(owner, spec, target, tmpfs(target, image, scratch)),
  };
}

function hostConfig(
  owner: Owner,
  spec: LaunchSpec,
  target: DockerTarget,
  Tmpfs: Record<string, string>,
): CreateBody['HostConfig'] {
  const { limits } = target;
  return {
    // Reaps what servers leave behind, and passes SIGTERM on to those that would ignore it as pid 1.
    Init: true,
    // The exit state is read before the container is removed.
    AutoRemove: false,
    RestartPolicy: { Name: 'no' },
    Privileged: false,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    ReadonlyRootfs: true,
    IpcMode: 'private',
    Memory: limits.memoryBytes,
    // Equal to Memory: no swap on top of it.
    MemorySwap: limits.memoryBytes,
    NanoCpus: Math.round(limits.cpus * 1e9),
    PidsLimit: limits.pids,
    NetworkMode: target.network === 'none' ? 'none' : nameOf(owner, spec),
    Tmpfs,
    LogConfig:
      target.logs === 'none'
        ? { Type: 'none', Config: {} }
        : { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
    Mounts: mounts(owner, target),
  };
}

/** Places that every server may write to; the engine refuses two mounts on one path. */
function tmpfs(
  target: DockerTarget,
  image: Image,
  scratch: readonly string[],
): Record<string, string> {
  const taken = new Set([...target.mounts, ...target.volumes].map(mount => mount.target));
  const options = `rw,nosuid,nodev,noexec,size=${target.limits.scratchBytes},mode=1777`;
  // Programs want their data folder to be their own; a user by name is left with what all may write to.
  const [, uid, gid] = /^(\d+)(?::(\d+))?$/.exec(userOf(target, image)) ?? [];
  const own = `${uid === undefined ? '' : `,uid=${uid}`}${gid === undefined ? '' : `,gid=${gid}`}`;
  return Object.fromEntries([
    ...['/tmp', home].filter(path => !taken.has(path)).map(path => [path, options]),
    ...scratch.map(path => [path, options + own]),
  ]);
}

function mounts(owner: Owner, target: DockerTarget): readonly MountBody[] {
  return [
    // The engine refuses a source that is absent, where the older Binds would make a folder of root's.
    ...target.mounts.map((mount): MountBody => ({
      Type: 'bind',
      Source: mount.source,
      Target: mount.target,
      ReadOnly: mount.readOnly,
    })),
    ...target.volumes.map((volume): MountBody => ({
      Type: 'volume',
      Source: volumeName(owner, volume),
      Target: volume.target,
      ReadOnly: false,
      VolumeOptions: {
        Labels: {
          [hubLabel]: owner.hubId,
          [managedLabel]: 'true',
          [nameLabel]: owner.hubName,
        },
      },
    })),
  ];
}

/**
 * The entry's user, else the image's own where that is a number other than root's. A name is looked up
 * in the image's own files, which may map any name to root: an unprivileged user takes its place. A number
 * without a group gets the group of the same number, as the engine would take one of the image's files, or root's.
 */
export function userOf(target: DockerTarget, image: Image): string {
  if (target.user !== undefined) return /^\d+$/.test(target.user) ? both(target.user) : target.user;
  const [, user, group = '0'] = /^([1-9]\d{0,8})(?::(\d{1,9}))?$/.exec(image.user) ?? [];
  if (user === undefined) return unprivileged;
  return Number(group) === 0 ? both(user) : image.user;
}

const both = (number: string) => `${number}:${number}`;
