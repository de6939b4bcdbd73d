import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import { readContext } from '#contexts';
import { type Clock, type Log, messageOf } from '#core';
import type { Config } from './config.ts';
import { identityOf } from './file-watch.ts';
import type { FolderBuild } from './folder-build.ts';

const defaultTiming = {
  /** Time without changes before a folder is read, in ms, because an editor may still be writing. */
  quietMs: 300,
  /** Maximum delay before a folder that changes all the time is read, in ms. */
  maxQuietWaitMs: 5_000,
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the files of a folder have changed. Calls do not overlap. Must not reject. */
  readonly onChange: () => Promise<unknown>;
  readonly watchFolder?: (folder: string, onEvent: () => void) => Disposable;
};

/** Maximum number of watched folders. Each uses an inotify watch, which the system limits per user. */
const maxFolders = 1_000;

/**
 * Watches the folders that images of servers are built from. An event only triggers a comparison of the files' digests.
 * File systems that send no events need a manual reload. Never throws or rejects.
 */
export function createBuildWatch(needs: Needs, timing: Partial<typeof defaultTiming> = {}) {
  const { quietMs, maxQuietWaitMs } = { ...defaultTiming, ...timing };
  const { clock, log, onChange, watchFolder = watchByEvents } = needs;
  /**
   * Watched folders by path. If a folder is replaced by a new one at its path, its watch sends no more events; the
   * identity shows that.
   */
  const watched = new Map<
    string,
    { readonly identity: string | undefined; readonly end: Disposable }
  >();
  /** Digests of the files, by build folder. */
  let digests: ReadonlyMap<string, string> = new Map();
  let scheduled: { readonly since: number; readonly timer: Disposable } | undefined;
  let working = Promise.resolve();
  let isClosed = false;

  function scheduleCheck(): void {
    if (isClosed) return;
    const since = scheduled?.since ?? clock.monotonic();
    scheduled?.timer[Symbol.dispose]();
    const leftMs = since + maxQuietWaitMs - clock.monotonic();
    const timer = clock.after(Math.max(0, Math.min(quietMs, leftMs)), () => {
      scheduled = undefined;
      working = working.then(check);
    });
    scheduled = { since, timer };
  }

  async function check(): Promise<void> {
    const before = digests;
    await look([...before.keys()]);
    if (differsFrom(before) && !isClosed) await onChange();
  }

  const differsFrom = (before: ReadonlyMap<string, string>) =>
    [...digests].some(([folder, digest]) => before.get(folder) !== digest);

  /** Watches the folders of a config that was read a moment ago. Schedules a check if files have changed since then. */
  async function followNow(builds: ReadonlyMap<string, string>): Promise<void> {
    await look([...builds.keys()]);
    const isChanged = differsFrom(builds);
    digests = builds;
    if (isChanged) scheduleCheck();
  }

  /** Reads the folders, and watches those of their subfolders that contain files of the build context. */
  async function look(builds: readonly string[]): Promise<void> {
    const found = await Promise.all(builds.map(stateOf));
    if (isClosed) return;
    digests = new Map(found.map(({ folder, digest }) => [folder, digest]));
    const wanted = [...new Set(found.flatMap(({ folders }) => folders))];
    if (wanted.length > maxFolders)
      log.warn({ folders: wanted.length }, `only ${maxFolders} folders of builds are watched`);
    const kept = new Set(wanted.slice(0, maxFolders));
    for (const folder of watched.keys()) if (!kept.has(folder)) unwatch(folder);
    for (const folder of kept) arm(folder);
  }

  function unwatch(folder: string): void {
    watched.get(folder)?.end[Symbol.dispose]();
    watched.delete(folder);
  }

  function arm(folder: string): void {
    const identity = identityOf(folder);
    const known = watched.get(folder);
    if (known && known.identity === identity) return;
    unwatch(folder);
    try {
      watched.set(folder, { identity, end: watchFolder(folder, scheduleCheck) });
    } catch (error) {
      const why = messageOf(error);
      log.debug({ folder, why }, 'cannot watch a folder of a build');
    }
  }

  return {
    /** Watches the builds of the enabled servers of a config instead of the previous ones. */
    follow({ servers }: Pick<Config, 'servers'>): void {
      const builds = new Map(
        servers.flatMap(({ enabled, launch }) =>
          enabled && launch.kind === 'local' && launch.build ? [stateIn(launch.build)] : [],
        ),
      );
      if (builds.size === 0 && watched.size === 0) return;
      working = working.then(() => followNow(builds));
    },
    async [Symbol.asyncDispose](): Promise<void> {
      isClosed = true;
      scheduled?.timer[Symbol.dispose]();
      for (const folder of watched.keys()) unwatch(folder);
      await working;
    },
  };
}

/** Path of a build folder, with its digest or fault when the config was last read. */
const stateIn = (build: FolderBuild) =>
  [build.folder, 'fault' in build ? build.fault : build.digest] as const;

/** Reads a build folder. If that fails, returns the error in place of a digest, and watches its parent folder too. */
const stateOf = async (folder: string) =>
  await readContext(folder).then(
    ({ digest, folders }) => ({ folder, digest, folders: [...folders] }),
    (error: unknown) => ({
      folder,
      digest: messageOf(error),
      folders: [folder, dirname(folder)],
    }),
  );

function watchByEvents(folder: string, onEvent: () => void): Disposable {
  const watcher: FSWatcher = watch(folder, { persistent: false }, onEvent);
  // Removing a folder ends its watch; the watch of its parent folder reports that.
  watcher.on('error', onEvent);
  return { [Symbol.dispose]: () => watcher.close() };
}
