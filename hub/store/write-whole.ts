import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, readdir, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCodeOf } from '#core';

/** Maximum number of symbolic links that Linux follows in one path (path_resolution(7)). */
const maxLinks = 40;
/** Age in ms above which a temporary file belongs to a writer that was killed. */
const staleAfterMs = 60_000;
/** Matches the suffix of temporary files and of locks. */
const tempSuffix = /\.(?:[0-9a-f]{12}|lock)\.new$/;
const lockSuffix = '.lock.new';
/**
 * Maximum number of attempts to get a lock, which take about a second. Writers hold it for milliseconds, so one that
 * still holds it was killed.
 */
const maxLockAttempts = 5_000;

/**
 * Replaces a file atomically: writes a temporary file beside it, syncs it and renames it over the target, so that
 * readers see the old or the new text, also after a crash. An existing file keeps its mode and, if this user may set
 * it, its owner; a new file is private to this user. A symbolic link is followed, not replaced. `check` is awaited just
 * before the rename, while no other process checks or renames; if it throws, the file stays as it was. Rejects with the
 * error of the system (a full disk, no permission, EBUSY for a mount point) and then leaves no temporary file. Also
 * removes stale temporary files of killed writers.
 */
export async function writeWhole(
  file: string,
  text: string,
  check?: () => Promise<void>,
): Promise<void> {
  const target = await followLink(file);
  const existing = await stat(target).catch(() => undefined); // The target does not exist yet.
  // A random name, so that concurrent writers never rename each other's half-written file.
  const tempFile = `${target}.${randomBytes(6).toString('hex')}.new`;
  let writtenMs: number;
  try {
    writtenMs = await writeSynced(tempFile, text, existing);
    if (check) await checkAndRename(tempFile, target, check);
    else await rename(tempFile, target);
  } catch (error) {
    await rm(tempFile, { force: true }).catch(() => {}); // The first error is more useful.
    throw error;
  }
  await syncFolder(dirname(target));
  // Ages are compared with the file system's clock. A young file belongs to a concurrent writer and stays.
  await removeTempFiles(dirname(target), async name => {
    if (!name.startsWith(`${basename(target)}.`)) return false;
    const { mtimeMs } = await stat(join(dirname(target), name));
    return writtenMs - mtimeMs > staleAfterMs;
  });
}

/**
 * Checks and renames under a lock, a file beside the target: between the check and the rename of one writer, another
 * one would otherwise replace the text that the first has checked, and its edit would be lost.
 */
async function checkAndRename(tempFile: string, target: string, check: () => Promise<void>) {
  const lock = `${target}${lockSuffix}`;
  for (let attempt = 1; !(await isCreated(lock)); attempt++)
    if (attempt % maxLockAttempts === 0) await rm(lock, { force: true });
  try {
    await check();
    await rename(tempFile, target);
  } finally {
    await rm(lock, { force: true });
  }
}

/** Creates an empty file. Resolves to false if it exists. */
async function isCreated(file: string): Promise<boolean> {
  try {
    await (await open(file, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Creates a file with this text and syncs it. Returns the time of the write on the clock of the file system, in ms. */
async function writeSynced(file: string, text: string, owner: Stats | undefined) {
  await using handle = await open(file, 'wx', 0o600);
  await handle.writeFile(text);
  if (owner) await copyOwnership(handle, owner);
  await handle.sync();
  return (await handle.stat()).mtimeMs;
}

/**
 * Removes the temporary files of `writeWhole` in a folder: all of them by default, which is safe only if there is no
 * other writer, or those that `shouldRemove` accepts. Never rejects.
 */
export async function removeTempFiles(
  folder: string,
  shouldRemove: (name: string) => Promise<boolean> = async () => true,
): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!tempSuffix.test(name)) continue;
    try {
      if (await shouldRemove(name)) await rm(join(folder, name), { force: true });
    } catch {
      // Already removed, or not removable, which does no harm: temporary files are never read.
    }
  }
}

/** Resolves symbolic links, including a link to a file that does not exist yet. */
async function followLink(path: string, linksLeft = maxLinks): Promise<string> {
  const real = await realpath(path).catch(() => undefined); // The file may not exist yet.
  if (real !== undefined || linksLeft === 0) return real ?? path;
  const target = await readlink(path).catch(() => undefined); // The path is not a link.
  return target === undefined
    ? path
    : await followLink(resolve(dirname(path), target), linksLeft - 1);
}

/** Copies owner and mode to a file. The owner is set first, because chown clears the set-user-id bit. */
async function copyOwnership(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid).catch(() => {}); // Only root may change owners.
  await handle.chmod(mode & 0o7777);
}

/** Syncs a folder, so that a rename in it survives a crash. Never rejects: some systems cannot sync folders. */
export async function syncFolder(path: string): Promise<void> {
  try {
    await using folder = await open(path, 'r');
    await folder.sync();
  } catch {
    // Ignored, as the rename itself has succeeded.
  }
}
