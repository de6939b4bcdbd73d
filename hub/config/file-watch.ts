import { type FSWatcher, statSync, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Clock, type Log, messageOf } from '#core';
import {
  type FileSnapshot,
  type ReadText,
  formatOf,
  readText,
  snapshotOf,
  unreadableSnapshot,
} from './files.ts';

const defaultTiming = {
  /** Time without changes before files are read, in ms, because an editor may still be writing. */
  quietMs: 200,
  /**
   * Time without changes, in ms, before a file is read that became shorter or disappeared. A partly written YAML file
   * can be valid, and a slow writer pauses for longer than an editor.
   */
  shorterQuietMs: 2_000,
  /** Maximum delay before files that change all the time are read, in ms. */
  maxQuietWaitMs: 5_000,
  /** Polling interval in ms, for file systems that send no events, such as some mounts. */
  pollMs: 3_000,
};

export type WatchTiming = Partial<typeof defaultTiming>;

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the new snapshots when the content of a file changed. Calls do not overlap. */
  readonly onChange: (seen: readonly FileSnapshot[]) => Promise<void>;
  readonly readText?: ReadText | undefined;
  readonly watchFolders?: typeof createFolderWatch;
};

export type FileWatch = ReturnType<typeof createFileWatch>;

/**
 * Creates a file watch. File system events and polled `stat` results only trigger a check, which compares the content.
 * Never throws or rejects.
 */
export function createFileWatch(timing: WatchTiming, needs: Needs) {
  const { quietMs, shorterQuietMs, maxQuietWaitMs, pollMs } = { ...defaultTiming, ...timing };
  const {
    clock,
    log,
    onChange,
    readText: read = readText,
    watchFolders = createFolderWatch,
  } = needs;
  let files: readonly FileSnapshot[] = [];
  let isClosed = false;
  /** Stat marks of the files when they were last stable. */
  let stableMarks = '';
  /** Stat marks of the files since one of them became shorter, and the time at which they were first seen, in ms. */
  let shorter: { readonly marks: string; readonly since: number } | undefined;
  let scheduled: { readonly since: number; readonly timer: Disposable } | undefined;
  let checking = Promise.resolve();
  let poll: Disposable | undefined;
  const folders = watchFolders(
    () => scheduleCheck(),
    (folder, why) => log.warn({ folder, why }, 'cannot watch a folder: polling it instead'),
  );

  /**
   * Schedules a check after a quiet period, and restarts the period if one is running. If the stat marks then differ
   * from `marks`, the check is postponed: without file system events, only they show that a program is still writing.
   */
  function scheduleCheck(
    marks?: string,
    since = scheduled?.since ?? clock.monotonic(),
    waitMs = quietMs,
  ): void {
    if (isClosed) return;
    scheduled?.timer[Symbol.dispose]();
    const leftMs = since + maxQuietWaitMs - clock.monotonic();
    const timer = clock.after(Math.max(0, Math.min(waitMs, leftMs)), () => {
      scheduled = undefined;
      checking = checking.then(() => checkFiles(marks, since));
    });
    scheduled = { since, timer };
  }

  async function checkFiles(expected: string | undefined, since: number): Promise<void> {
    const marks = await statMarksOf(files);
    const now = clock.monotonic();
    const isOverdue = now - since >= maxQuietWaitMs;
    if (expected !== undefined && expected !== marks && !isOverdue)
      return scheduleCheck(marks, since);
    stableMarks = marks;
    const seen = await Promise.all(files.map(({ path }) => readSnapshot(path, read)));
    if (isClosed) return;
    const isShorter = seen.some((one, index) => mayBeTruncated(one, files[index]));
    if (!isShorter) shorter = undefined;
    else if (shorter?.marks !== marks) shorter = { marks, since: now };
    const leftMs = shorter ? shorter.since + shorterQuietMs - now : 0;
    if (leftMs > 0 && !isOverdue) return scheduleCheck(marks, since, leftMs);
    if (seen.some(({ digest }, index) => digest !== files[index]?.digest)) await onChange(seen);
  }

  function pollLater(): void {
    if (isClosed) return;
    poll = clock.after(pollMs, () => void pollNow());
  }

  async function pollNow(): Promise<void> {
    await folders.follow(files.map(({ path }) => path));
    const marks = await statMarksOf(files);
    if (marks !== stableMarks && !scheduled) scheduleCheck(marks);
    pollLater();
  }

  return {
    /** Watches these files instead of the previous ones. Each snapshot has the last known content. */
    async follow(wanted: readonly FileSnapshot[]): Promise<void> {
      files = wanted;
      if (isClosed) return;
      await folders.follow(wanted.map(({ path }) => path));
      // Check once for changes that happened before the watch started.
      stableMarks = '';
      scheduleCheck();
      if (!poll) pollLater();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      isClosed = true;
      scheduled?.timer[Symbol.dispose]();
      poll?.[Symbol.dispose]();
      folders[Symbol.dispose]();
      await checking;
    },
  };
}

const readSnapshot = (path: string, read: ReadText) =>
  read(path).then(
    text => snapshotOf(path, text),
    (error: unknown) => unreadableSnapshot(path, error),
  );

/**
 * True if the text may be the beginning of a file that is still being written. JSON needs no check: if truncated, it is
 * invalid.
 */
const mayBeTruncated = (now: FileSnapshot, before: FileSnapshot | undefined) =>
  before !== undefined &&
  now.length < before.length &&
  (now.length === 0 || formatOf(now.path) !== 'json');

/** Returns device, inode, size and times of the files, which detect a change without reading the content. */
async function statMarksOf(files: readonly FileSnapshot[]): Promise<string> {
  const marks = files.map(async ({ path }) => {
    const found = await stat(path, { bigint: true }).catch(() => undefined); // A missing file has no marks.
    return found && [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
  });
  return (await Promise.all(marks)).join(' ');
}

/** Maximum number of watched folders. Each uses an inotify watch, which the system limits per user. */
const maxFolders = 64;

/**
 * Reports changes in the folders of the given files. Events can get lost, so callers also have to poll. Changes of
 * names that start with two dots count too: through them Kubernetes swaps the content of a mounted folder.
 */
export function createFolderWatch(
  onEvent: () => void,
  onError: (folder: string, why: string) => void,
) {
  const watched = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>();
  let names: ReadonlySet<string> = new Set();
  let isClosed = false;

  function unwatch(folder: string): void {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  }

  function arm(folder: string): void {
    const identity = identityOf(folder);
    const known = watched.get(folder);
    if (known && known.identity === identity) return;
    unwatch(folder);
    if (identity === undefined) return;
    try {
      const watcher = watch(folder, { persistent: false });
      watcher.on('change', (_, changed) => {
        const name = changed?.toString();
        if (name === undefined || names.has(name) || name.startsWith('..')) onEvent();
      });
      watcher.on('error', error => {
        unwatch(folder);
        onError(folder, messageOf(error));
      });
      watched.set(folder, { identity, watcher });
      if (known) onEvent();
    } catch (error) {
      onError(folder, messageOf(error));
    }
  }

  return {
    /**
     * Watches the folders of these files and of the targets of their links, instead of the previous ones. Call it
     * regularly: it also notices that a folder was replaced by a new one at its path.
     */
    async follow(files: readonly string[]): Promise<void> {
      const real = files.map(async file => await realpath(file).catch(() => file));
      const paths = [...files, ...(await Promise.all(real))];
      if (isClosed) return;
      names = new Set(paths.map(path => basename(path)));
      const folders = new Set(paths.map(path => dirname(path)));
      const wanted = [...folders].slice(0, maxFolders);
      for (const folder of watched.keys()) if (!wanted.includes(folder)) unwatch(folder);
      for (const folder of wanted) arm(folder);
    },
    [Symbol.dispose]() {
      isClosed = true;
      for (const folder of watched.keys()) unwatch(folder);
    },
  };
}

/**
 * Returns device, inode and creation time of a folder, which change if the folder is replaced: ext4 gives a new folder
 * the inode of one that was just removed. Undefined if the folder does not exist.
 */
export function identityOf(folder: string): string | undefined {
  try {
    const found = statSync(folder, { bigint: true });
    return `${found.dev}:${found.ino}:${found.birthtimeNs}`;
  } catch {
    // A missing folder has no identity.
    return undefined;
  }
}
