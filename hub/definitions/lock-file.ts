import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { unwritable } from '#config';
import { HubError, errorCodeOf, messageOf } from '#core';
import { writeWhole } from '#store';
import { type Lock, lockInvalid, lockText, parseLock } from './lock.ts';

/** A change of the pins. Pure: it is applied again if another program has written the file meanwhile. */
export type LockChange = (lock: Lock) => Lock;

/** Maximum size of the file: it is read as a whole, also by the thread that answers calls. */
const maxFileBytes = 256 * 2 ** 20;
/** Attempts per write. */
const attempts = 5;

/** Thrown by the check before the rename if the file is not the one that was read. */
class Overtaken extends Error {}

/** The lock file beside a config file: `mcp-servers.lock.json` beside `mcp-servers.json`. */
export const lockFileOf = (configFile: string): string => {
  const { dir, name } = parse(configFile);
  return join(dir, `${name}.lock.json`);
};

/** Follows links. Rejects if there is nothing. */
async function kindOf(file: string) {
  const stats = await stat(file);
  return { size: stats.size, isFile: stats.isFile() };
}

/** The text of the file; undefined if there is none. Rejects with HUB_LOCK_INVALID if it cannot be read. */
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

/** The pins in a file; none if there is no file. Rejects with HUB_LOCK_INVALID. */
export async function readLock(file: string): Promise<Lock> {
  const text = await readLockText(file);
  return text === undefined ? new Map() : parseLock(text, file);
}

/**
 * Applies a change to what the file contains now, and writes it as a whole unless another program has written it since
 * it was read: then the change is applied to that. Resolves with the pins in the file. Rejects with HUB_LOCK_INVALID,
 * HUB_CONFIG_UNWRITABLE, or HUB_CONFIG_CONFLICT if others write all the time.
 */
export async function changeLock(file: string, change: LockChange): Promise<Lock> {
  for (let attempt = 1; ; attempt++) {
    const before = await readLockText(file);
    const lock = change(before === undefined ? new Map() : parseLock(before, file));
    const text = lockText(lock);
    if (text === before || (before === undefined && lock.size === 0)) return lock;
    try {
      // The folder of the shipped config may be missing in the working folder.
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
