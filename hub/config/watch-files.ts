import type { Log } from '#core';
import {
  type FileWatch,
  type FileWatchNeeds,
  type FileWatchOptions,
  createFileWatch,
} from './file-watch.ts';
import { createFolderWatch } from './folder-watch.ts';

/** Default timing of the file watch. */
const defaultTiming: FileWatchOptions = {
  quietMs: 200,
  shorterQuietMs: 2_000,
  maxQuietWaitMs: 5_000,
  pollMs: 3_000,
};

/** Watches config files through their folders. Logs the folders that cannot be watched. */
export const watchFiles = (
  options: Partial<FileWatchOptions>,
  needs: Omit<FileWatchNeeds, 'watchFolders'> & { readonly log: Log },
): FileWatch =>
  createFileWatch(
    { ...defaultTiming, ...options },
    {
      ...needs,
      watchFolders: onEvent =>
        createFolderWatch(onEvent, (folder, why) =>
          needs.log.warn({ folder, why }, 'cannot watch a folder: polling it instead'),
        ),
    },
  );
