import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, HubError, errorCodeOf, ignoreMissing } from '#core';

/** Maximum number of files in a workspace, as many as can be counted in an interval. */
const maxFiles = 200_000;
const intervalMs = 1_000;
/** Minimum pause between two measurements, as a multiple of the duration of the first. */
const idleTimes = 4;
/** Maximum length of a path in a message, in characters. */
const maxShown = 300;

type Watched = {
  readonly id: string;
  readonly folder: string;
  readonly maxBytes: () => number;
  /** Called once. Must not throw. */
  readonly exceeded: (why: HubError) => void;
};

/** Measures a workspace every second, until it exceeds its limit or the watch is disposed. */
export function watchWorkspace(
  { id, folder, maxBytes, exceeded }: Watched,
  clock: Clock,
): Disposable {
  let isOver = false;
  let next: Disposable | undefined;

  async function look(): Promise<void> {
    const since = clock.monotonic();
    const most = maxBytes();
    const { bytes, files, unreadable } = await measure(folder, most, () => isOver);
    if (isOver) return;
    if (unreadable !== undefined)
      return exceeded(
        new HubError(
          'HUB_WORKSPACE_FULL',
          `${id} was stopped: the hub cannot read ${unreadable.slice(0, maxShown)}, so the size of its workspace is unknown. Make the folder readable, or remove it`,
        ),
      );
    if (bytes > most || files > maxFiles) {
      const what = bytes > most ? `${megabytes(most)} MB` : `${maxFiles} files`;
      return exceeded(
        new HubError(
          'HUB_WORKSPACE_FULL',
          `${id} was stopped: its workspace exceeds ${what}. Remove files from ${folder}, or raise "agents.workspace" in the config`,
        ),
      );
    }
    const tookMs = clock.monotonic() - since;
    plan(Math.max(intervalMs - tookMs, idleTimes * tookMs));
  }

  function plan(delayMs: number): void {
    next = clock.after(delayMs, () => void look().catch(() => plan(intervalMs))); // The folder changes while it is read.
  }

  plan(intervalMs);
  return {
    [Symbol.dispose]() {
      isOver = true;
      next?.[Symbol.dispose]();
    },
  };
}

const megabytes = (bytes: number) => Math.round(bytes / 2 ** 20);

/** Counts allocated bytes and files, and stops at the first limit. Follows no links. */
async function measure(folder: string, maxBytes: number, isOver: () => boolean) {
  let bytes = 0;
  let files = 0;
  const folders = [folder];
  for (let path = folders.pop(); path !== undefined; path = folders.pop()) {
    const entries = await entriesOf(path);
    if (entries === 'unreadable') return { bytes, files, unreadable: path };
    for (const { name, isFolder, size } of entries) {
      files++;
      bytes += size;
      if (isOver() || bytes > maxBytes || files > maxFiles)
        return { bytes, files, unreadable: undefined };
      if (isFolder) folders.push(join(path, name));
    }
  }
  return { bytes, files, unreadable: undefined };
}

async function entriesOf(path: string) {
  const found: { readonly name: string; readonly isFolder: boolean; readonly size: number }[] = [];
  try {
    for await (const entry of await opendir(path)) {
      const size = await sizeOf(join(path, entry.name));
      found.push({ name: entry.name, isFolder: entry.isDirectory(), size });
    }
  } catch (error) {
    const code = errorCodeOf(error) ?? '';
    if (unmeasured.includes(code)) return 'unreadable';
    // Removed meanwhile, or replaced by a file or a link.
    if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) throw error;
  }
  return found;
}

/** Codes of errors that an agent can cause in its workspace, such as by a path that is too long for a system call. */
const unmeasured = ['EACCES', 'ENAMETOOLONG'];

async function sizeOf(path: string): Promise<number> {
  const status = await lstat(path).catch(ignoreMissing); // Removed meanwhile.
  // Sparse files count with what they occupy; the unit is 512 bytes (stat(2)).
  return (status?.blocks ?? 0) * 512;
}
