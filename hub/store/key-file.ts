import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './write-whole.ts';

/** The token for calls that a hub makes where containers can reach it, in the data folder. */
export const callTokenFile = 'call-token';

/** 32 random bytes as base64url, without padding. */
const keyPattern = /^[\w-]{43}$/;
/** More than a key and its line end: a longer file does not hold a key. */
const maxFileBytes = 128;
const remedy = 'Delete it and restart the hub, which makes a new one';

/**
 * Reads a secret key from a file; the first call makes it. Of several callers at once one makes the file, and
 * all read the same key. Rejects as `readKey`.
 */
export async function readOrMakeKey(file: string): Promise<string> {
  const kept = await readKey(file);
  if (kept !== undefined) return kept;
  await makeKey(file);
  const made = await readKey(file);
  if (made === undefined) throw new Error(`${file} was deleted while the hub started`);
  return made;
}

/**
 * The key in a file; undefined where there is no such file. Permissions of other users are removed. Rejects
 * where the file belongs to another user, is not a regular file, or does not hold a key. Windows has neither
 * owners nor modes here: the permissions of the folder protect the file there.
 */
export async function readKey(file: string): Promise<string | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, readFlags);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    if (!isCode(error, 'ELOOP')) throw error;
    throw new Error(`${file} is a symbolic link. ${remedy}`, { cause: error });
  }
  try {
    await protect(file, handle);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxFileBytes));
    const key = buffer.toString('latin1', 0, bytesRead).trim();
    if (!keyPattern.test(key)) throw new Error(`${file} does not hold a key. ${remedy}`);
    return key;
  } finally {
    await handle.close();
  }
}

/** No link is followed, and a pipe does not block. Windows lacks both flags. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Refuses what another user controls, and makes the file private where it is not. */
async function protect(file: string, handle: FileHandle): Promise<void> {
  const found = await handle.stat();
  if (!found.isFile()) throw new Error(`${file} is not a regular file. ${remedy}`);
  const own = process.geteuid?.();
  if (own === undefined) return;
  if (found.uid !== own)
    throw new Error(
      `${file} belongs to user ${found.uid}, and this process runs as ${own}. Run it as the user of the hub, or delete the file and restart the hub`,
    );
  if ((found.mode & 0o077) !== 0) await handle.chmod(0o600);
}

/** Writes the file beside its place and links it there: nobody reads half a key, and the first one stays. */
async function makeKey(file: string): Promise<void> {
  const key = randomBytes(32).toString('base64url');
  const beside = `${file}.${randomBytes(6).toString('hex')}.new`;
  const handle = await open(beside, 'wx', 0o600);
  try {
    try {
      await handle.writeFile(`${key}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(beside, file);
  } catch (error) {
    // Another start made the file meanwhile: its key counts.
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(beside, { force: true });
  }
  await syncFolder(dirname(file));
}

const isCode = (error: unknown, code: string) =>
  error instanceof Error && 'code' in error && error.code === code;
