import { lstat, readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type GuardedPlace, placesOfUser } from './guarded-places.ts';
import { type ResolvedPath, isIn } from './paths.ts';
import type { Environment, ReadSecrets } from './variables.ts';

/**
 * Returns the reason why a source must not be mounted, as the end of a sentence; undefined if it is allowed. A refused
 * mount would let a server take over this machine or the user's account, or read the user's keys.
 */
export type MountGuard = (
  source: ResolvedPath,
  mount: { readonly readOnly: boolean; readonly allowSensitive: boolean },
) => Promise<string | undefined>;

export type LoadOptions = {
  /** Environment variables for `${NAME}`. */
  readonly env: Environment;
  /** Reader of secrets for `${secret:NAME}`. Absent if no secret is set. */
  readonly secrets?: ReadSecrets;
  /** Absolute path of the home folder, for `~`. */
  readonly home: string;
  /** The hub's own files and folders, which no server may write to. */
  readonly ownPlaces?: readonly GuardedPlace[];
  /** Config files of MCP clients in a home folder, which no server may write to. Called only for writable mounts. */
  readonly clientFiles?: (home: string) => Promise<readonly string[]>;
};

/** A resolved path. `links` are the symbolic links on it; write access to one of them decides where the path leads. */
type ResolvedLinks = { readonly links: readonly string[]; readonly end: string };
type ResolvedPlace = GuardedPlace & ResolvedLinks;

/**
 * Creates a guard for one read of the config. It resolves links only once, so that only the guard of the next read sees
 * changes of links.
 */
export function createMountGuard(configFiles: readonly string[], options: LoadOptions): MountGuard {
  const { home, env, ownPlaces = [], clientFiles = async () => [] } = options;
  const engineSocket = findEngineSocket(env);
  const resolveLinks = createLinkResolver();
  const lists = new Map<string, Promise<readonly ResolvedPlace[]>>();

  async function resolvePlaces(list: () => Promise<readonly GuardedPlace[]>) {
    const places = await list();
    return await Promise.all(
      places.map(async place => ({ ...place, ...(await resolveLinks(resolve(place.path))) })),
    );
  }

  function listOnce(key: string, list: () => Promise<readonly GuardedPlace[]>) {
    const places = lists.get(key) ?? resolvePlaces(list);
    lists.set(key, places);
    return places;
  }

  async function placesAround({ written, real }: ResolvedPath, readOnly: boolean) {
    const homes = new Set([home, ...[written, real].flatMap(homesAround)]);
    const found = [
      listOnce('hub', async () => [...runPlaces("the hub's config", configFiles), ...ownPlaces]),
    ];
    for (const each of homes) {
      // Environment variables only describe the user who runs the hub.
      const user = { home: each, env: each === home ? env : {} };
      found.push(listOnce(`user ${each}`, async () => placesOfUser(user)));
      if (readOnly) continue;
      const what = 'the programs that an MCP client runs';
      found.push(listOnce(`client ${each}`, async () => runPlaces(what, await clientFiles(each))));
    }
    return (await Promise.all(found)).flat();
  }

  return async (source, { readOnly, allowSensitive }) => {
    // Check the path as written too: the engine may run on another machine, with other links.
    for (const path of new Set([source.real, source.written])) {
      const escape = await findSandboxEscape(path, readOnly, engineSocket);
      if (escape !== undefined) return escape;
    }
    for (const place of await placesAround(source, readOnly)) {
      const { path, what, kind } = place;
      const isWrite = !readOnly && kind !== 'secret';
      const isRead = !allowSensitive && kind !== 'run';
      if ((!isWrite && !isRead) || !isExposedBy(source, place)) continue;
      const where = `it is, contains or is in ${path} (${what})`;
      if (!isWrite)
        return `${where}; mount another folder, or add "allow_sensitive": true to the entry if the server may read it`;
      return `${where}, and a server that may write there could take over your user; mount another folder${kind === 'run' ? ', or this one read-only' : ''}`;
    }
    return undefined;
  };
}

const runPlaces = (what: string, paths: readonly string[]): readonly GuardedPlace[] =>
  paths.map(path => ({ path, what, kind: 'run' }));

/** Home folders that stand for all, to check mounts of a folder that contains all home folders. */
const exampleHomes = new Map([
  ['/', ['/root', '/home/user', '/Users/user']],
  ['/home', ['/home/user']],
  ['/Users', ['/Users/user']],
]);

/**
 * Returns the home folders around or below the path. They are guarded in addition to that of the hub's user: the
 * machine may have other users, and a hub in a container has another home than the user whose folders it mounts.
 */
function homesAround(path: string): readonly string[] {
  const [, home] = /^(\/root|\/(?:home|Users)\/[^/]+)(?:\/|$)/.exec(path) ?? [];
  return home === undefined ? (exampleHomes.get(path) ?? []) : [home];
}

/** True if mounting the source exposes a guarded place, or a symbolic link on the way to that place. */
function isExposedBy(
  { written, real }: ResolvedPath,
  { path, links, end }: ResolvedPlace,
): boolean {
  return [written, real].some(
    source =>
      [path, end].some(one => isIn(one, source) || isIn(source, one)) ||
      links.some(link => isIn(link, source)),
  );
}

/** Maximum number of links in one path, as in Linux. */
const maxLinks = 40;

/** Creates a function that resolves paths and caches their common parents. */
export function createLinkResolver(): (path: string) => Promise<ResolvedLinks> {
  const found = new Map<string, Promise<ResolvedLinks>>();

  async function follow(path: string, linksLeft: number): Promise<ResolvedLinks> {
    const parent = dirname(path);
    if (parent === path) return { links: [], end: path };
    const above = await resolveLinks(parent, linksLeft);
    const here = join(above.end, basename(path));
    const target = linksLeft > 0 ? await readlink(here).catch(() => undefined) : undefined; // The path is not a link.
    if (target === undefined) return { links: above.links, end: here };
    const beyond = await resolveLinks(resolve(dirname(here), target), linksLeft - 1);
    return { links: [...above.links, here, ...beyond.links], end: beyond.end };
  }

  function resolveLinks(path: string, linksLeft = maxLinks): Promise<ResolvedLinks> {
    // The key contains the number of links left, so that a cycle of links does not wait for itself.
    const key = `${linksLeft} ${path}`;
    const own = found.get(key) ?? follow(path, linksLeft);
    found.set(key, own);
    return own;
  }

  return resolveLinks;
}

/** File names of the sockets of container engines, which are refused in any folder. */
const socketNames = [
  'docker.sock',
  'docker.raw.sock',
  'docker.proxy.sock',
  'podman.sock',
  'containerd.sock',
];

/** Default paths of the engines' sockets. Rootless engines have a folder per user instead. */
const defaultSockets = [
  '/run/docker.sock',
  '/var/run/docker.sock',
  '/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/run/user/0/docker.sock',
];

/**
 * Folders of the kernel and the engine that expose the machine. The broker, which protects the engine, refuses more.
 */
const exposingFolders = ['/proc', '/sys', '/dev', '/var/lib/docker', '/var/lib/containerd'];

/** Returns the path of the engine's socket, if DOCKER_HOST is one. */
export function findEngineSocket(env: Environment): string | undefined {
  return /^unix:\/\/(\/.+)$/.exec(env['DOCKER_HOST']?.trim() ?? '')?.[1];
}

/**
 * Returns why mounting `path` would let a container take over this machine; undefined if it would not. Refuses a socket
 * even read-only, because a read-only mount does not prevent connections.
 */
export async function findSandboxEscape(
  path: string,
  readOnly: boolean,
  engineSocket: string | undefined,
): Promise<string | undefined> {
  const sockets = engineSocket === undefined ? defaultSockets : [...defaultSockets, engineSocket];
  if (
    socketNames.includes(basename(path)) ||
    sockets.some(socket => isIn(socket, path)) ||
    (await hasSocket(path))
  )
    return "it is or contains the engine's socket, which gives control over this machine; mount something else";
  const shared = exposingFolders.find(folder => isIn(folder, path) || isIn(path, folder));
  if (shared !== undefined)
    return `it is, contains or is in ${shared}, which gives control over this machine; mount something else`;
  // A subfolder of `/etc` is the user's explicit choice. Write access to all of `/etc` is equivalent to root.
  if (!readOnly && isIn('/etc', path))
    return 'write access to it gives control over this machine; mount it read-only, or mount a folder in it';
  return undefined;
}

async function hasSocket(folder: string): Promise<boolean> {
  const found = await Promise.all(
    socketNames.map(async name => await lstat(join(folder, name)).catch(() => undefined)), // There is no such file.
  );
  return found.some(entry => entry?.isSocket());
}
