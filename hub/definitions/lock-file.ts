import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { unwritable } from '#config';
import { HubError, errorCodeOf, messageOf } from '#core';
import { writeWhole } from '#store';
import { type Lock, lockInvalid, lockText, parseLock } from './lock.ts';

/** A change of the pins. Pure, as it is applied again if another program has written the file meanwhile. */
export type LockChange = (lock: Lock) => Lock;

/** Maximum size of the file in bytes. The file is read as a whole, also by the thread that answers calls. */
const maxFileBytes = 256 * 2 ** 20;
/** Maximum number of attempts to write a change. */
const attempts = 5;

/** Thrown before the rename if another program has changed the file since it was read. */
class Overtaken extends Error {}

/** Returns the lock file of a config file: `mcp-servers.lock.json` next to `mcp-servers.json`. */
export const lockFileOf = (configFile: string): string => {
  const { dir, name } = parse(configFile);
  return join(dir, `${name}.lock.json`);
};

/** Returns size and type of a file. Follows links. Rejects if the file does not exist. */
async function kindOf(file: string) {
  const stats = await stat(file);
  return { size: stats.size, isFile: stats.isFile() };
}

/** Reads the file; undefined if it does not exist. Rejects with HUB_LOCK_INVALID if it cannot be read. */
async function readLockText(file: string): Promise<string | undefined> {
  try {
    const { size, isFile } = await kindOf(file);
    if (!isFile || size > maxFileBytes)
      throw lockInvalid(
        file,
        isFile ? `it has ${size} bytes, and at most ${maxFileBytes} are read` : 'it is not a file',
      );
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    if (error instanceof HubError) throw error;
    throw new HubError('HUB_LOCK_INVALID', `${file} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Reads the pins in a file; none if the file does not exist. Rejects with HUB_LOCK_INVALID. */
export async function readLock(file: string): Promise<Lock> {
  const text = await readLockText(file);
  return text === undefined ? new Map() : parseLock(text, file);
}

/** Returns why the lock file of a config file cannot be used; undefined if it can, or does not exist. */
export async function findLockFault(configFile: string): Promise<string | undefined> {
  try {
    await readLock(lockFileOf(configFile));
    return undefined;
  } catch (error) {
    if (error instanceof HubError) return error.message;
    throw error;
  }
}

/**
 * Applies a change to the current file and replaces the file. If another program has written it meanwhile, the change
 * is applied to the new content. Resolves with the pins in the file. Rejects with HUB_LOCK_INVALID,
 * HUB_CONFIG_UNWRITABLE, or HUB_CONFIG_CONFLICT after too many attempts.
 */
export async function changeLock(file: string, change: LockChange): Promise<Lock> {
  for (let attempt = 1; ; attempt++) {
    const before = await readLockText(file);
    const lock = change(before === undefined ? new Map() : parseLock(before, file));
    const text = lockText(lock);
    if (text === before || (before === undefined && lock.size === 0)) return lock;
    try {
      // The folder of a bundled config may not exist in the working folder.
      await mkdir(dirname(file), { recursive: true });
      await writeWhole(file, text, async () => {
        if ((await readLockText(file)) !== before) throw new Overtaken();
      });
      return lock;
    } catch (error) {
      if (!(error instanceof Overtaken)) throw unwritable(file, error);
      if (attempt === attempts)
        throw new HubError(
          'HUB_CONFIG_CONFLICT',
          `${file}: another program is writing it. Try again when that is done`,
          { data: { retryable: true } },
        );
    }
  }
}
