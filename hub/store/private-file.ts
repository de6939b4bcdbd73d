import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errorCodeOf } from '#core';

type PrivateFileOptions = {
  /** Maximum size of the content in bytes. Longer content is cut off one byte later. */
  readonly maxBytes: number;
  /** Advice in the errors about a file that cannot be used, as a sentence. */
  readonly remedy: string;
};

/**
 * Reads a text that only this user may read, and removes the permissions of other users. Undefined if the file does not
 * exist. Rejects if it belongs to another user or is not a regular file. On Windows, where Node sees no owners or
 * modes, the permissions of the folder protect the file.
 */
export async function readPrivate(
  file: string,
  { maxBytes, remedy }: PrivateFileOptions,
): Promise<string | undefined> {
  await using handle = await openIfPresent(file, remedy);
  if (!handle) return undefined;
  const size = await protect(file, handle, remedy);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(size, maxBytes) + 1));
  return buffer.toString('utf8', 0, bytesRead);
}

/** Flags to open a file without following a symbolic link or blocking on a pipe. Windows has neither flag. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

async function openIfPresent(file: string, remedy: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, readFlags);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    if (errorCodeOf(error) !== 'ELOOP') throw error;
    throw new Error(`${file} is a symbolic link. ${remedy}`, { cause: error });
  }
}

/**
 * Removes the permissions of group and others, and returns the file's size. Throws for a file of another user or a
 * special file.
 */
async function protect(file: string, handle: FileHandle, remedy: string): Promise<number> {
  const stats = await handle.stat();
  if (!stats.isFile()) throw new Error(`${file} is not a regular file. ${remedy}`);
  const uid = process.geteuid?.();
  if (uid === undefined) return stats.size;
  if (stats.uid !== uid)
    throw new Error(
      `${file} belongs to user ${stats.uid}, and this process runs as ${uid}. Run it as the user of the hub, or delete the file and restart the hub`,
    );
  if ((stats.mode & 0o077) !== 0) await handle.chmod(0o600);
  return stats.size;
}
