import { readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Environment } from './env.ts';
import { type GuardedPlace, placesOfUser } from './guarded-places.ts';
import { isIn } from './paths.ts';

/** Where the source of a mount is: as it is written, and with its links followed. Absolute. */
type Source = { readonly written: string; readonly real: string };

/** Says which mounts would let a server take over this machine's user, or read that user's keys. */
export interface Guard {
  /** Why it is not mounted, as the end of a sentence; undefined where it may be. */
  findRefusal(
    source: Source,
    entry: { readonly readOnly: boolean; readonly allowSensitive: boolean },
  ): Promise<string | undefined>;
}

type Needs = {
  readonly home: string;
  readonly env: Environment;
  /** The config file and what it extends. */
  readonly configFiles: readonly string[];
  /** The hub's own files and folders. */
  readonly ownPlaces: readonly GuardedPlace[];
  /** Where MCP clients of the user with this home folder keep their servers; asked only where a server is to write. */
  readonly clientFiles: (home: string) => Promise<readonly string[]>;
};

/** How a path leads to where it ends. */
type Way = {
  /** The links that it goes through: whoever may replace one decides where the path leads. */
  readonly links: readonly string[];
  readonly end: string;
};

type Known = GuardedPlace & Way;

/** A guard for one reading of the config: links that change later are seen by the next. */
export function createGuard({ home, env, configFiles, ...needs }: Needs): Guard {
  const wayOf = createWays();
  const withWays = async (places: readonly GuardedPlace[]): Promise<readonly Known[]> =>
    await Promise.all(
      places.map(async place => ({ ...place, ...(await wayOf(resolve(place.path))) })),
    );
  let known: Promise<readonly Known[]> | undefined;
  const ofUsers = new Map<string, Promise<readonly Known[]>>();
  const ofClients = new Map<string, Promise<readonly Known[]>>();

  const listOwn = () =>
    withWays([
      ...configFiles.map(path => ({ path, what: "the hub's config", kind: 'run' }) as const),
      ...needs.ownPlaces,
    ]);
  const listUsers = (of: string) =>
    // What the environment says is of the hub's own user.
    withWays(placesOfUser({ home: of, env: of === home ? env : {} }));
  const listClients = async (of: string) => {
    const files = await needs.clientFiles(of);
    const what = 'the programs that an MCP client runs';
    return await withWays(files.map(path => ({ path, what, kind: 'run' }) as const));
  };

  async function placesAround({ written, real }: Source, readOnly: boolean) {
    const homes = new Set([home, ...[written, real].flatMap(homesAround)]);
    const found = [(known ??= listOwn())];
    for (const each of homes) {
      found.push(once(ofUsers, each, listUsers));
      if (!readOnly) found.push(once(ofClients, each, listClients));
    }
    return (await Promise.all(found)).flat();
  }

  return {
    async findRefusal(source, { readOnly, allowSensitive }) {
      for (const place of await placesAround(source, readOnly)) {
        const { path, what, kind } = place;
        const isWrite = !readOnly && kind !== 'secret';
        const isRead = !allowSensitive && kind !== 'run';
        if ((!isWrite && !isRead) || !meets(source, place)) continue;
        const where = `it is, holds or is in ${path} (${what})`;
        if (!isWrite)
          return `${where}; mount another folder, or add "allow_sensitive": true to the entry if its server may read that`;
        return `${where}, and a server that may write there could take over your user; mount another folder${kind === 'run' ? ', or this one read-only' : ''}`;
      }
      return undefined;
    },
  };
}

/** One that stands for all in it. */
const someHomes = new Map([
  ['/', ['/root', '/home/user', '/Users/user']],
  ['/home', ['/home/user']],
  ['/Users', ['/Users/user']],
]);

/**
 * The home folders that a path may be, hold or be in. They are guarded besides the own one: there are other users, and
 * a hub in a container has another home than the user whose folders it mounts.
 */
function homesAround(path: string): readonly string[] {
  const [, home] = /^(\/root|\/(?:home|Users)\/[^/]+)(?:\/|$)/.exec(path) ?? [];
  return home === undefined ? (someHomes.get(path) ?? []) : [home];
}

function once<Key, Value>(made: Map<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const value = made.get(key) ?? make(key);
  made.set(key, value);
  return value;
}

/** Whether a mount of the source gives away a place, or a link on the way to it. */
function meets({ written, real }: Source, { path, links, end }: Known): boolean {
  return [written, real].some(
    source =>
      [path, end].some(one => isIn(one, source) || isIn(source, one)) ||
      links.some(link => isIn(link, source)),
  );
}

/** As many links as Linux follows in one path. */
const mostLinks = 40;

/** Follows paths, of which many have the same parents. */
function createWays(): (path: string) => Promise<Way> {
  const found = new Map<string, Promise<Way>>();

  async function follow(path: string, linksLeft: number): Promise<Way> {
    const parent = dirname(path);
    if (parent === path) return { links: [], end: path };
    const above = await wayOf(parent, linksLeft);
    const here = join(above.end, basename(path));
    const target = linksLeft > 0 ? await readlink(here).catch(() => undefined) : undefined;
    if (target === undefined) return { links: above.links, end: here };
    const beyond = await wayOf(resolve(dirname(here), target), linksLeft - 1);
    return { links: [...above.links, here, ...beyond.links], end: beyond.end };
  }

  function wayOf(path: string, linksLeft: number): Promise<Way> {
    // With the count, so that links which go round in a circle do not wait for themselves.
    const key = `${linksLeft} ${path}`;
    const own = found.get(key) ?? follow(path, linksLeft);
    found.set(key, own);
    return own;
  }

  return path => wayOf(path, mostLinks);
}
