import { z } from 'zod';
import type { EngineSocket } from './engine-socket.ts';
import { isIn } from './mounts.ts';
import { refusal, show, unanswered } from './refusal.ts';
import { type HubIdentity, hubLabel, managedLabel } from './schema.ts';

/** A folder or file of the engine's machine that is mounted into a container. */
export type Bind = { readonly source: string; readonly readOnly: boolean };

/** A container that exists or is being created. `name` is undefined for a container of another hub. */
type BoundContainer = { readonly name?: string | undefined; readonly binds: readonly Bind[] };

/** Maximum number of containers for one hub, far above what a workstation runs. */
export const maxContainers = 256;

type Engine = Pick<EngineSocket, 'getJson'>;

/**
 * Creates a registry of the engine's containers and the folders they mount. They are listed on each call, as containers
 * outlive the broker.
 */
export function createContainerRegistry(
  engine: Engine,
  { hubId, hubName }: Pick<HubIdentity, 'hubId' | 'hubName'>,
) {
  const starting = new Set<BoundContainer>();
  let lastAdmission: Promise<unknown> = Promise.resolve();

  async function admit(name: string, binds: readonly Bind[]): Promise<() => void> {
    // `starting` is copied before the list request, so that a container created meanwhile is in at least one of the
    // two.
    const containers = [...starting, ...(await listContainers(engine, hubId))];
    // A container of the same name does not count: it must be removed before the engine creates this one.
    const others = containers.filter(container => container.name !== name);
    const own = new Set(others.map(container => container.name));
    own.delete(undefined);
    const advice = 'Stop servers, or remove their leftover containers';
    if (own.size >= maxContainers)
      throw refusal(`more than ${maxContainers} containers of one hub. ${advice}`);
    const created: BoundContainer = { name, binds };
    for (const other of [...others, created]) {
      if (!isGateOf(created, other, hubName)) refuseNested(created, other);
      if (!isGateOf(other, created, hubName)) refuseNested(other, created);
    }
    starting.add(created);
    return () => void starting.delete(created);
  }

  return {
    /**
     * Reserves a place for a new container until the returned function is called. Rejects with HUB_BROKER_REFUSED
     * above the container limit, and if a mounted folder lies below a folder that a container of any hub may
     * write to: that container could replace the inner folder by a symbolic link between the broker's check and
     * the engine's mount.
     */
    reserve(name: string, binds: readonly Bind[]): Promise<() => void> {
      const admitted = lastAdmission.then(() => admit(name, binds));
      lastAdmission = admitted.catch(() => undefined); // The caller of `reserve` gets the error.
      return admitted;
    },
  };
}

/** Folder of the worktrees of tasks, in a repository. */
const worktrees = '.git/agenthub/worktrees';

/**
 * True if `gate` runs acceptance commands in a worktree, and `git` mounts the repository of that worktree. The names of
 * both must begin as `checkRepositoryContainer` requires: any other name could be that of a server.
 */
function isGateOf(gate: BoundContainer, git: BoundContainer, hubName: string): boolean {
  const [outer] = git.binds;
  return (
    gate.name?.startsWith(`${hubName}-.gate-`) === true &&
    git.name?.startsWith(`${hubName}-.git-`) === true &&
    outer !== undefined &&
    gate.binds.every(({ source }) => isBelow(source, `${outer.source}/${worktrees}`))
  );
}

/** Throws if a mount of one container lies below a writable mount of the other. */
function refuseNested(inner: BoundContainer, outer: BoundContainer): void {
  for (const { source: folder, readOnly } of outer.binds) {
    const nested = readOnly ? undefined : inner.binds.find(bind => isBelow(bind.source, folder));
    if (nested === undefined) continue;
    throw refusal(
      `a mount of ${show(nested.source)}${of(inner)} beside a writable mount of ${show(folder)}${of(outer)}, ` +
        'which it lies in. Mount the outer one read-only, or the same folder in both',
    );
  }
}

const of = ({ name }: BoundContainer) =>
  name === undefined ? ' in a container of another hub' : ` in ${name}`;

/**
 * True if a path is below a folder. Case and Unicode form are ignored, because file systems outside Linux may ignore
 * both.
 */
function isBelow(path: string, folder: string): boolean {
  const [inner, outer] = [foldPath(path), foldPath(folder)];
  return inner !== outer && isIn(inner, outer);
}

/** Returns the same text for all spellings of a file name: `é` of one or two characters, `ß` and `SS`. */
const foldPath = (path: string) => path.normalize('NFD').toLowerCase().toUpperCase();

const listedSchema = z.object({
  Id: z.string(),
  Names: z.array(z.string()),
  Labels: z.record(z.string(), z.string()),
  Mounts: z.array(z.object({ Type: z.string() })),
});

async function listContainers(engine: Engine, hubId: string): Promise<readonly BoundContainer[]> {
  const filters = JSON.stringify({ label: [`${managedLabel}=true`] });
  const query = `all=1&filters=${encodeURIComponent(filters)}`;
  const { status, body } = await engine.getJson(`/containers/json?${query}`);
  const found = z.array(listedSchema).safeParse(body);
  if (status !== 200 || !found.success) throw unanswered('list containers for the broker', status);
  return await Promise.all(
    found.data.map(async ({ Id, Names, Labels, Mounts }) => ({
      name: Labels[hubLabel] === hubId ? Names[0]?.slice(1) : undefined,
      binds: Mounts.some(mount => mount.Type === 'bind') ? await bindsOf(engine, Id) : [],
    })),
  );
}

const mountSchema = z.object({
  Type: z.string(),
  Source: z.string().default(''),
  ReadOnly: z.boolean().default(false),
});
const hostSchema = z.object({
  Binds: z.array(z.string()).nullish(),
  Mounts: z.array(mountSchema).nullish(),
});

/**
 * Returns the bind mounts of a container, as named at its creation, because Docker Desktop reports other paths
 * elsewhere.
 */
export async function bindsOf(engine: Engine, id: string): Promise<readonly Bind[]> {
  const { status, body } = await engine.getJson(`/containers/${id}/json`);
  if (status === 404) return [];
  const found = z.object({ HostConfig: hostSchema }).safeParse(body);
  if (status !== 200 || !found.success)
    throw unanswered(`inspect the container ${id} for the broker`, status);
  const { Binds, Mounts } = found.data.HostConfig;
  return [
    // The older `Binds` form, which the hub does not use, counts as writable.
    ...(Binds ?? []).map(bind => ({ source: bind.split(':')[0] ?? '', readOnly: false })),
    ...(Mounts ?? [])
      .filter(mount => mount.Type === 'bind')
      .map(({ Source, ReadOnly }) => ({ source: Source, readOnly: ReadOnly })),
  ];
}
