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
  if (platform === 'darwin') {
    const own = path.join(home, 'Library', 'Application Support', name);
    return { config: own, data: path.join(own, 'data'), state: path.join(own, 'hubs') };
  }
  const ownIn = (variable: string, ...usual: readonly string[]) =>
    path.join(folderIn(variable) ?? path.join(home, ...usual), name);
  if (isWindows) {
    const local = ownIn('LOCALAPPDATA', 'AppData', 'Local');
    const config = ownIn('APPDATA', 'AppData', 'Roaming');
    return { config, data: path.join(local, 'data'), state: path.join(local, 'hubs') };
  }
  return {
    config: ownIn('XDG_CONFIG_HOME', '.config'),
    data: ownIn('XDG_DATA_HOME', '.local', 'share'),
    state: path.join(ownIn('XDG_STATE_HOME', '.local', 'state'), 'hubs'),
  };
}
