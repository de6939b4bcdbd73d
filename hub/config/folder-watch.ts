import { type FSWatcher, statSync, watch } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { messageOf } from '#core';

/** Each folder takes one inotify watch, and these are limited per user. */
const maxFolders = 64;

/**
 * Reports changes in the folders of some files. Events can get lost, so callers also have to poll. Calls `onEvent` when
 * one of the files changes, or a name that starts with two dots: Kubernetes swaps the content of a mounted folder
 * through such names. Calls `onError` if a folder cannot be watched.
 */
export function createFolderWatch(
  onEvent: () => void,
  onError: (folder: string, why: string) => void,
) {
  const watched = new Map<string, { readonly inode: string; readonly watcher: FSWatcher }>();
  let names: ReadonlySet<string> = new Set();
  let isClosed = false;

  function unwatch(folder: string): void {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  }

  function arm(folder: string): void {
    const inode = inodeOf(folder);
    const known = watched.get(folder);
    if (known && known.inode === inode) return;
    unwatch(folder);
    if (inode === undefined) return;
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
      watched.set(folder, { inode, watcher });
      if (known) onEvent();
    } catch (error) {
      onError(folder, messageOf(error));
    }
  }

  return {
    /**
     * Watches the folders of these files, and the folders that their symbolic links lead to, instead of the previous
     * ones. Call it regularly: it also notices that a folder was replaced by another one of the same name.
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

/** Device and inode of a folder, which differ if the folder was replaced; undefined if there is none. */
function inodeOf(folder: string): string | undefined {
  try {
    const found = statSync(folder, { bigint: true });
    return `${found.dev}:${found.ino}`;
  } catch {
    // A missing folder has no inode.
    return undefined;
  }
}
