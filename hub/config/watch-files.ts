import type { Log } from '#core';
import {
  type FileWatch,
  type FileWatchNeeds,
  type FileWatchOptions,
  createFileWatch,
} from './file-watch.ts';
import { createFolderWatch } from './folder-watch.ts';

/** How files are watched where nobody says otherwise. */
const usual: FileWatchOptions = {
  quietMs: 200,
  shorterQuietMs: 2_000,
  maxUnrestMs: 5_000,
  pollMs: 3_000,
};

/** Watches files of the config by their folders, and says in the log which of these cannot be watched. */
export const watchFiles = (
  options: Partial<FileWatchOptions>,
  needs: Omit<FileWatchNeeds, 'watchFolders'> & { readonly log: Log },
): FileWatch =>
  createFileWatch(
    { ...usual, ...options },
    {
      ...needs,
      watchFolders: onEvent =>
        createFolderWatch(onEvent, (folder, why) =>
          needs.log.warn(
            { folder, why },
            'a folder cannot be watched, only looked at now and then',
          ),
        ),
    },
  );
