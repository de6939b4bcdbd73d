import { randomBytes } from 'node:crypto';
import {
  type FileHandle,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** As many links as Linux follows in one path. */
const mostLinks = 40;
/** What stands beside a file for longer than this is not being written any more: whoever did has died. */
const leftAfterMs = 60_000;
/** What the name of a text has behind that of its file while it is written. */
const besideSuffix = /\.[0-9a-f]{12}\.new$/;

/**
 * Writes beside the file, syncs, and renames over it: a reader, and whoever looks after a crash, sees the
 * old text or the new. A file that was there keeps its mode and, where this user may give it, its owner;
 * a new one is for this user only. A link stays, and what it leads to is written. `check` is awaited last,
 * before anything is seen of it; what it throws is thrown on. Rejects with the error of the system (a full
 * disk, no permission, EBUSY for a file that is mounted by itself), and leaves nothing beside it then; what
 * a writer that was killed has left there is removed.
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
  let writtenMs: number;
  try {
    try {
      await handle.writeFile(text);
      if (before) await giveTo(handle, before);
      await handle.sync();
      writtenMs = (await handle.stat()).mtimeMs;
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
  // By the clock of the file system: another writer may be at it, whose text stays.
  await removeLeft(dirname(target), async name => {
    if (!name.startsWith(`${basename(target)}.`)) return false;
    const { mtimeMs } = await stat(join(dirname(target), name));
    return writtenMs - mtimeMs > leftAfterMs;
  });
}

/**
 * Removes the texts in a folder that `writeWhole` has begun and not finished, of those that are to go: all,
 * where nobody else writes there. Never rejects.
 */
export async function removeLeft(
  folder: string,
  isToGo: (name: string) => Promise<boolean> = async () => true,
): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!besideSuffix.test(name)) continue;
    try {
      if (await isToGo(name)) await rm(join(folder, name), { force: true });
    } catch {
      // It is gone, or stays: it is taken for nothing else.
    }
  }
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
export async function syncFolder(path: string): Promise<void> {
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
