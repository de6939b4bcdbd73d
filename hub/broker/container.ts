import { z } from 'zod';
import { refusal, show } from './refusal.ts';
import {
  type HubIdentity,
  containerPath,
  isBuildName,
  matching,
  ownLabels,
  ownName,
  ownNetworkName,
  plainPath,
  rebuildBody,
  volumeLabels,
  words,
} from './schema.ts';

export const mebibyte = 1024 * 1024;
/** Upper bounds for every server, whatever its config says. */
const maxResources = { memoryBytes: 32 * 1024 * mebibyte, cpus: 64, pids: 4096 };
const nanoCpusPerCpu = 1_000_000_000;

export const integer = (from: number, to: number) => z.int().min(from).max(to);

/**
 * Rebuilds the body of a container creation from checked fields, with all hardening options set. Throws
 * HUB_BROKER_REFUSED. The caller checks what only the engine or the file system knows: the owner of networks
 * and volumes, and symbolic links in paths.
 */
export function rebuildContainer(body: string, owner: HubIdentity): CheckedContainer {
  return rebuildBody(body, containerSchema(owner), 'a container');
}

/**
 * True if a container of this hub may have this name. Names of builds are excluded: the engine creates their
 * containers.
 */
export function containerName(name: string | undefined, owner: HubIdentity): boolean {
  return ownName(owner).safeParse(name).success && name !== undefined && !isBuildName(name, owner);
}

export type CheckedContainer = z.infer<ReturnType<typeof containerSchema>>;

/** The standard streams of every container, to which the hub attaches. */
export const openStreams = {
  AttachStdin: z.literal(true),
  AttachStdout: z.literal(true),
  AttachStderr: z.literal(true),
  OpenStdin: z.literal(true),
  StdinOnce: z.literal(false),
  Tty: z.literal(false),
};

function containerSchema(owner: HubIdentity) {
  return z.strictObject({
    Image: matching(/^[a-zA-Z0-9][a-zA-Z0-9_.:@/-]{0,511}$/),
    Hostname: matching(/^mcp-[a-zA-Z0-9_.-]{1,59}$/).optional(),
    // Numbers only: the engine looks up names in the image's own files, which may map any name to root. Without a
    // group, it uses the one in these files, or root's group if they do not list the user.
    User: matching(
      /^[1-9]\d{0,8}(:[1-9]\d{0,8})?$/,
      'must be the numbers of a user and a group other than root, such as "1000:1000"',
    ).transform(user => (user.includes(':') ? user : `${user}:${user}`)),
    Env: words.optional(),
    Entrypoint: words.optional(),
    Cmd: words.optional(),
    WorkingDir: containerPath.optional(),
    ...openStreams,
    Healthcheck: z.strictObject({ Test: z.tuple([z.literal('NONE')]) }).optional(),
    Labels: ownLabels(owner),
    HostConfig: hostSchema(owner),
  });
}

/** An entry of /etc/hosts that maps a name to the forwarder in the server's own network. */
const extraHost = /^[a-z0-9_][a-z0-9_.-]{0,252}:10\.213\.\d{1,3}\.\d{1,3}$/;
const tmpfsOptions =
  /^rw,nosuid,nodev,(?:no)?exec,size=\d{1,12},mode=[01]?[0-7]{3}(,uid=\d{1,9})?(,gid=\d{1,9})?$/;
/** Working folder of acceptance commands. */
const programsFolder = '/acceptance';
const isTmpfs = ([path, options]: readonly [string, string]) =>
  path === programsFolder || options.includes(',noexec,');
export const localLog = z.strictObject({
  Type: z.literal('local'),
  Config: z.strictObject({
    'max-size': matching(/^([1-9]\d?)m$/),
    'max-file': matching(/^[1-9]$/),
  }),
});
const noLog = z.strictObject({ Type: z.literal('none'), Config: z.strictObject({}).optional() });

const fileBytes = z.int().min(mebibyte);
const fileLimit = z.strictObject({ Name: z.literal('fsize'), Soft: fileBytes, Hard: fileBytes });

function hostSchema(owner: HubIdentity) {
  return z
    .strictObject({
      Init: z.boolean().optional(),
      AutoRemove: z.literal(false).default(false),
      RestartPolicy: z.strictObject({ Name: z.literal('no') }).prefault({ Name: 'no' }),
      Privileged: z.literal(false).default(false),
      CapDrop: z.tuple([z.literal('ALL')]).prefault(['ALL']),
      SecurityOpt: z
        .tuple([z.literal(['no-new-privileges', 'no-new-privileges:true'])])
        .prefault(['no-new-privileges']),
      ReadonlyRootfs: z.literal(true).default(true),
      IpcMode: z.literal(['private', 'none']).default('private'),
      CgroupnsMode: z.literal('private').default('private'),
      Memory: integer(6 * mebibyte, maxResources.memoryBytes),
      MemorySwap: z.int().optional(),
      NanoCpus: integer(1, maxResources.cpus * nanoCpusPerCpu),
      PidsLimit: integer(1, maxResources.pids),
      // Maximum size of a file that the server writes, in bytes.
      Ulimits: z.tuple([fileLimit]).optional(),
      NetworkMode: z
        .union([z.literal('none'), ownNetworkName(owner)], {
          error: 'must be "none" or the name of a network of this hub',
        })
        .default('none'),
      ExtraHosts: z
        .array(matching(extraHost, 'must be a name and an address in 10.213.0.0/16'))
        .max(200)
        .optional(),
      Tmpfs: z
        .record(containerPath, matching(tmpfsOptions))
        .refine(folders => Object.entries(folders).every(isTmpfs), {
          error: `only ${programsFolder} may have programs`,
        })
        .optional(),
      LogConfig: z
        .discriminatedUnion('Type', [localLog, noLog])
        .prefault({ Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } }),
      Mounts: z.array(mountSchema(owner)).max(64).optional(),
    })
    .refine(host => host.MemorySwap === undefined || host.MemorySwap === host.Memory, {
      error: 'must be the same as Memory',
      path: ['MemorySwap'],
    })
    .transform(host => ({ ...host, MemorySwap: host.Memory }));
}

function mountSchema(owner: HubIdentity) {
  return z.discriminatedUnion('Type', [
    z.strictObject({
      Type: z.literal('bind'),
      Source: plainPath,
      Target: containerPath,
      ReadOnly: z.boolean(),
    }),
    z
      .strictObject({
        Type: z.literal('volume'),
        Source: z.string(),
        Target: containerPath,
        ReadOnly: z.boolean().optional(),
        VolumeOptions: z
          .strictObject({
            // Labels of a volume that the engine creates. No driver options: they could turn a volume into any folder.
            Labels: volumeLabels(owner).optional(),
            NoCopy: z.literal(true).optional(),
            Subpath: matching(workspacePath, 'must be the workspace of an agent').optional(),
          })
          .prefault({}),
      })
      .superRefine(({ Source, Target, VolumeOptions }, context) => {
        const isFolder = VolumeOptions.Subpath !== undefined;
        const isAllowed = isFolder
          ? Source === owner.dataVolume && Target === '/workspace'
          : ownName(owner).safeParse(Source).success;
        if (isAllowed) return;
        const message = isFolder
          ? "must be the volume with the hub's data (DATA_VOLUME of the broker), at /workspace"
          : `must begin with "${owner.hubName}-"`;
        context.addIssue({ code: 'custom', path: ['Source'], input: Source, message });
      })
      .transform(({ VolumeOptions: { Labels, NoCopy, Subpath }, ...mount }) => ({
        ...mount,
        // The volume of a folder exists already, so it gets no labels.
        VolumeOptions:
          Subpath === undefined
            ? { Labels: volumeLabels(owner).parse(Labels) }
            : { ...(NoCopy && { NoCopy }), Subpath },
      })),
  ]);
}

/** Path of an agent's workspace in the volume with the hub's data. */
const workspacePath = /^agents\/[a-z0-9][a-z0-9-]{0,62}\/workspace$/;

/**
 * Checks that only the container of an agent mounts the agent's workspace. Throws HUB_BROKER_REFUSED. Its image must be
 * one that the broker built from its own files: see `rebuildBuild`.
 */
export function checkAgent(
  name: string,
  { Image, HostConfig }: CheckedContainer,
  { hubName }: HubIdentity,
) {
  for (const mount of HostConfig.Mounts ?? []) {
    if (mount.Type !== 'volume' || !('Subpath' in mount.VolumeOptions)) continue;
    const [, id] = mount.VolumeOptions.Subpath?.split('/') ?? [];
    if (name === `${hubName}-.agent-${id}` && /^agenthub\/agent:[0-9a-f]{12}$/.test(Image))
      continue;
    throw refusal(
      `the workspace of the agent ${show(id)} in a container called ${show(name)} of the image ${show(Image)}`,
    );
  }
}
