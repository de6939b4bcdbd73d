import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import { readContext } from '#contexts';
import { type Clock, type Log, messageOf } from '#core';
import type { Config } from './config.ts';
import { identityOf } from './file-watch.ts';
import type { FolderBuild } from './folder-build.ts';

const defaultTiming = {
  /** Folders are read once nothing has changed in them for this long, because an editor may still be writing. */
  quietMs: 300,
  /** Folders that change all the time are read after this long. */
  maxQuietWaitMs: 5_000,
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the files of a folder have changed. Calls do not overlap. Must not reject. */
  readonly onChange: () => Promise<unknown>;
  readonly watchFolder?: (folder: string, onEvent: () => void) => Disposable;
};

/** Maximum number of watched folders. Each takes an inotify watch, and these are limited per user. */
const maxFolders = 1_000;

/**
 * Watches the folders that servers are built of. Events only trigger a check; the files decide. File systems that send no
 * events need a reload by hand. Never throws or rejects.
 */
export function createBuildWatch(needs: Needs, timing: Partial<typeof defaultTiming> = {}) {
  const { quietMs, maxQuietWaitMs } = { ...defaultTiming, ...timing };
  const { clock, log, onChange, watchFolder = watchByEvents } = needs;
  /** By path. A folder that was replaced by another of the same name sends no more events, and has another identity. */
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

  /** Watches folders that the config read a while ago. They may have changed since. */
  async function followNow(builds: ReadonlyMap<string, string>): Promise<void> {
    await look([...builds.keys()]);
    const isChanged = differsFrom(builds);
    digests = builds;
    if (isChanged) scheduleCheck();
  }

  /** Reads the folders, and watches those in them that have files of the context. */
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

/** A build folder with its digest, or its fault, as of the last read of the config. */
const stateIn = (build: FolderBuild) =>
  [build.folder, 'fault' in build ? build.fault : build.digest] as const;

/** A folder that cannot be read is watched itself, and from above, where it may be made. */
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
  // A folder that is removed ends its watch; the one above sees that.
  watcher.on('error', onEvent);
  return { [Symbol.dispose]: () => watcher.close() };
}
