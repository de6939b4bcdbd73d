import { stat } from 'node:fs/promises';
import type { Clock } from '#core';
import { type FileSeen, type ReadText, fileSeen, fileUnread, formatOf, readText } from './files.ts';
import type { FolderWatch } from './folder-watch.ts';

export type FileWatchOptions = {
  /** Files are read once nothing has happened to them for this long: an editor may still be writing. */
  readonly quietMs: number;
  /**
   * The same for a file that has become shorter, or is away: what is written so far of a text may be all of
   * another, as YAML is at the end of every server, and a slow writer pauses for longer than an editor.
   */
  readonly shorterQuietMs: number;
  /** Files to which something happens all the time are read after this long nevertheless. */
  readonly maxUnrestMs: number;
  /** How often files are looked at where the system tells nothing, as across some mounts. */
  readonly pollMs: number;
};

export type FileWatchNeeds = {
  readonly clock: Clock;
  readonly watchFolders: (onEvent: () => void) => FolderWatch;
  /** The content of a file is another than what was seen last: it is `seen`. Never called while it runs. */
  readonly onChange: (seen: readonly FileSeen[]) => Promise<void>;
  /** How whoever is told of changes reads the files, where that is not as they are. */
  readonly readText?: ReadText | undefined;
};

/** Knows when the content of files has changed, however they are written. */
export interface FileWatch extends AsyncDisposable {
  /** Takes these files in place of those before, with what was seen in them. */
  follow(files: readonly FileSeen[]): Promise<void>;
}

/**
 * The system's events and a look at size, times and inode every few seconds only wake it; the content
 * decides, so that a `touch` changes nothing. Nothing is thrown and no promise rejects.
 */
export function createFileWatch(options: FileWatchOptions, needs: FileWatchNeeds): FileWatch {
  const { quietMs, shorterQuietMs, maxUnrestMs, pollMs } = options;
  const { clock, onChange, readText: read = readText } = needs;
  let files: readonly FileSeen[] = [];
  let isClosed = false;
  /** What stat told of the files when they were last found at rest. */
  let atRest = '';
  /** Since when the files are as they are, one of them shorter than it was. */
  let shorter: { readonly marks: string; readonly since: number } | undefined;
  /** The unrest now, until the files are looked at. */
  let unrest: { readonly since: number; readonly timer: Disposable } | undefined;
  let looking = Promise.resolve();
  let poll: Disposable | undefined;
  const folders = needs.watchFolders(() => stir());

  /**
   * Something may have happened: the wait for silence begins anew. `marks` are what the files must still
   * have when it ends, where nothing but these tells that somebody is writing.
   */
  function stir(
    marks?: string,
    since = unrest?.since ?? clock.monotonic(),
    waitMs = quietMs,
  ): void {
    if (isClosed) return;
    unrest?.timer[Symbol.dispose]();
    const leftMs = since + maxUnrestMs - clock.monotonic();
    const timer = clock.after(Math.max(0, Math.min(waitMs, leftMs)), () => {
      unrest = undefined;
      looking = looking.then(() => look(marks, since));
    });
    unrest = { since, timer };
  }

  async function look(expected: string | undefined, since: number): Promise<void> {
    const marks = await marksOf(files);
    const now = clock.monotonic();
    const isOverdue = now - since >= maxUnrestMs;
    if (expected !== undefined && expected !== marks && !isOverdue) return stir(marks, since);
    atRest = marks;
    const seen = await Promise.all(files.map(({ path }) => see(path, read)));
    if (isClosed) return;
    const isShorter = seen.some((one, index) => mayBeCut(one, files[index]));
    if (!isShorter) shorter = undefined;
    else if (shorter?.marks !== marks) shorter = { marks, since: now };
    const leftMs = shorter ? shorter.since + shorterQuietMs - now : 0;
    if (leftMs > 0 && !isOverdue) return stir(marks, since, leftMs);
    if (seen.some(({ digest }, index) => digest !== files[index]?.digest)) await onChange(seen);
  }

  function pollLater(): void {
    if (isClosed) return;
    poll = clock.after(pollMs, () => void pollNow());
  }

  async function pollNow(): Promise<void> {
    await folders.follow(files.map(({ path }) => path));
    const marks = await marksOf(files);
    if (marks !== atRest && !unrest) stir(marks);
    pollLater();
  }

  return {
    async follow(wanted) {
      files = wanted;
      if (isClosed) return;
      await folders.follow(wanted.map(({ path }) => path));
      // What happened before they were watched is seen now.
      atRest = '';
      stir();
      if (!poll) pollLater();
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      unrest?.timer[Symbol.dispose]();
      poll?.[Symbol.dispose]();
      folders[Symbol.dispose]();
      await looking;
    },
  };
}

const see = (path: string, read: ReadText) =>
  read(path).then(
    text => fileSeen(path, text),
    (error: unknown) => fileUnread(path, error),
  );

/**
 * Whether a text may be the beginning of one that is being written, as nothing is. JSON that is cut is not
 * JSON, and whoever wrote it so is told soon.
 */
const mayBeCut = (now: FileSeen, before: FileSeen | undefined) =>
  before !== undefined &&
  now.length < before.length &&
  (now.length === 0 || formatOf(now.path) !== 'json');

/** What the system tells of the files without reading them. */
async function marksOf(files: readonly FileSeen[]): Promise<string> {
  const marks = files.map(async ({ path }) => {
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    return found && [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
  });
  return (await Promise.all(marks)).join(' ');
}
