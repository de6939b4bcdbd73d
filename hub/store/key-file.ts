import { randomBytes } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCodeOf } from '#core';
import { readPrivate } from './private-file.ts';
import { syncFolder } from './write-whole.ts';

/**
 * Name of the file in the data folder with the token for tool calls. The hub creates it if containers can reach its
 * port.
 */
export const callTokenFile = 'call-token';

/** Matches a key: 32 random bytes as base64url, without padding. */
const keyPattern = /^[\w-]{43}$/;
/** Number of bytes after which a key file is cut off. A key with its line end is shorter. */
const maxFileBytes = 128;
const remedy = 'Delete it and restart the hub, which makes a new one';

/**
 * Reads the key in a file as `readKey` does, but creates the file if it is absent. Concurrent callers all get the same
 * key.
 */
export async function readOrMakeKey(file: string): Promise<string> {
  const existing = await readKey(file);
  if (existing !== undefined) return existing;
  await createKey(file);
  const created = await readKey(file);
  if (created === undefined) throw new Error(`${file} was deleted while the hub started`);
  return created;
}

/**
 * Reads the key in a file, and removes the permissions of other users. Undefined if the file does not exist. Rejects if
 * it belongs to another user, is not a regular file, or does not contain a key. On Windows, where Node sees no owners
 * or modes, the permissions of the folder protect the file.
 */
export async function readKey(file: string): Promise<string | undefined> {
  const key = (await readPrivate(file, { maxBytes: maxFileBytes, remedy }))?.trim();
  if (key === undefined) return undefined;
  if (!keyPattern.test(key)) throw new Error(`${file} does not hold a key. ${remedy}`);
  return key;
}

/** Creates a complete file and hard-links it into place: readers never see half a key, and the first writer wins. */
async function createKey(file: string): Promise<void> {
  const key = randomBytes(32).toString('base64url');
  const tempFile = `${file}.${randomBytes(6).toString('hex')}.new`;
  try {
    await writeFile(tempFile, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await link(tempFile, file);
  } catch (error) {
    // Another process created the file in the meantime, and its key is used.
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(tempFile, { force: true });
  }
  await syncFolder(dirname(file));
}
