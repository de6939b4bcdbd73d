import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { DescribedProgram } from './needs.ts';
import { shellWord } from '#core';

/**
 * Returns the command that puts `agenthub` on the PATH of this user; undefined if it is there already. It creates a
 * link, so that a git clone is used as it is after each pull. Never fails.
 */
export function pathCommand(program: DescribedProgram): string | undefined {
  const { script, home, env, platform, version } = program;
  const folders = (env['PATH'] ?? '').split(delimiter);
  if (folders.some(folder => isProgram(join(folder, 'agenthub'), script))) return undefined;
  // A link is no solution under npx, which removes its cache, or on Windows, where links need special rights.
  if (/[\\/]_npx[\\/]/.test(script)) return `npm install --global agenthub@${version}`;
  if (platform === 'win32')
    return `npm install --global ${JSON.stringify(join(script, '..', '..'))}`;
  const target = [join(home, '.local', 'bin'), join(home, 'bin'), '/usr/local/bin'].find(
    folder => folders.includes(folder) && isWritable(folder),
  );
  const link = (folder: string) =>
    `ln -sf ${shellWord(script)} ${shellWord(join(folder, 'agenthub'))}`;
  return target === undefined ? `sudo ${link('/usr/local/bin')}` : link(target);
}

function isProgram(file: string, script: string): boolean {
  try {
    return realpathSync(file) === script;
  } catch {
    return false; // The file does not exist.
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // The folder is absent, or belongs to another user.
  }
}
