import { isAbsolute, join, win32 } from 'node:path';
import type { Environment } from './variables.ts';

/** Absolute paths of the folders of one user for the files of a hub. The folders may not exist yet. */
export type UserFolders = {
  /** Folder of the config file, the rules file and `.env`. */
  readonly config: string;
  /** Data folder of the hub. */
  readonly data: string;
  /** Folder with one file per data folder, to find the hubs of this user. */
  readonly state: string;
};

type Machine = {
  readonly platform: NodeJS.Platform;
  /**
   * Environment of the process. Excludes the working folder's `.env`, which must not decide which user's files are
   * used.
   */
  readonly env: Environment;
  /** Path of the home folder. */
  readonly home: string;
};

const name = 'agenthub';

/**
 * Returns the folders of this user by the conventions of the platform: the XDG base directories, `~/Library/Application
 * Support` on macOS, `%APPDATA%` and `%LOCALAPPDATA%` on Windows. AGENTHUB_HOME, an absolute path, puts all of them in
 * one folder.
 */
export function findUserFolders({ platform, env, home }: Machine): UserFolders {
  const isWindows = platform === 'win32';
  const path = isWindows ? win32 : { isAbsolute, join };
  // Ignore a relative path: it is invalid by the XDG specification, and would depend on the working folder.
  const folderIn = (variable: string) => {
    const value = env[variable]?.trim() ?? '';
    return path.isAbsolute(value) ? value : undefined;
  };
  const whole = folderIn('AGENTHUB_HOME');
  if (whole !== undefined)
    return { config: whole, data: path.join(whole, 'data'), state: path.join(whole, 'hubs') };
  if (isWindows) {
    const roaming = folderIn('APPDATA') ?? path.join(home, 'AppData', 'Roaming');
    const local = folderIn('LOCALAPPDATA') ?? path.join(home, 'AppData', 'Local');
    return {
      config: path.join(roaming, name),
      data: path.join(local, name, 'data'),
      state: path.join(local, name, 'hubs'),
    };
  }
  if (platform === 'darwin') {
    const own = path.join(home, 'Library', 'Application Support', name);
    return { config: own, data: path.join(own, 'data'), state: path.join(own, 'hubs') };
  }
  return {
    config: path.join(folderIn('XDG_CONFIG_HOME') ?? path.join(home, '.config'), name),
    data: path.join(folderIn('XDG_DATA_HOME') ?? path.join(home, '.local', 'share'), name),
    state: path.join(
      folderIn('XDG_STATE_HOME') ?? path.join(home, '.local', 'state'),
      name,
      'hubs',
    ),
  };
}
