import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** As many links as Linux follows in one path. */
const mostLinks = 40;

/**
 * Writes beside the file, syncs, and renames over it: a reader, and whoever looks after a crash, sees the
 * old text or the new. A file that was there keeps its mode and, where this user may give it, its owner;
 * a new one is for this user only. A link stays, and what it leads to is written. `check` is awaited last,
 * before anything is seen of it; what it throws is thrown on. Rejects with the error of the system (a full
 * disk, no permission, EBUSY for a file that is mounted by itself), and leaves nothing beside it then.
 */
export async function writeWhole(
  file: string,
  text: string,
  check?: () => Promise<void>,
): Promise<void> {
  const target = await followLink(file);
  const before = await stat(target).catch(() => undefined);
  // Names that two writers do not share: one would rename what the other has half written.
  const beside = `${target}.${randomBytes(6).toString('hex')}.new`;
  const handle = await open(beside, 'wx', 0o600);
  try {
    try {
      await handle.writeFile(text);
      if (before) await giveTo(handle, before);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await check?.();
    await rename(beside, target);
  } catch (error) {
    await rm(beside, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(target));
}

/** Where a path leads, also through a link to a file that is not there yet. */
async function followLink(path: string, linksLeft = mostLinks): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || linksLeft === 0) return real ?? path;
  const target = await readlink(path).catch(() => undefined);
  return target === undefined
    ? path
    : await followLink(resolve(dirname(path), target), linksLeft - 1);
}

type Ownership = { readonly uid: number; readonly gid: number; readonly mode: number };

/** The owner first: to change it takes away the set-user-id bit of the mode. */
async function giveTo(handle: FileHandle, { uid, gid, mode }: Ownership): Promise<void> {
  const now = await handle.stat();
  // Only root gives a file away; the text counts for more than who owns it.
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid).catch(() => {});
  await handle.chmod(mode & 0o7777);
}

/** Without it a crash may bring the old name back. Some systems do not sync folders, and need not. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch {
    // The text is in its place.
  }
}
