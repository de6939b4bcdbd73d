import { access, mkdir, open, readdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readFileWithin, unwritable } from '#config';
import { HubError, errorCodeOf, messageOf } from '#core';

/** Replaces a file atomically, like `writeWhole` of the store. */
export type WriteWhole = (file: string, text: string, check: () => Promise<void>) => Promise<void>;

/** A change of a file. A text of undefined means that the file does not exist. */
export type FileChange = {
  readonly file: string;
  /** Text of the file when it was read. */
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** Maximum size of a client file in bytes. Some clients also store long histories in these files. */
const maxFileBytes = 256 * 1024 * 1024;
/** Maximum number of backups per file. The hub never deletes old ones; the user decides. */
const maxBackups = 99;
const suffix = '.agenthub-backup-';

/**
 * Reads a file. Resolves to undefined if it does not exist. Rejects with HUB_CONFIG_INVALID for a file that is
 * unreadable or not UTF-8, because writing it back would change it.
 */
export async function readExactly(file: string): Promise<string | undefined> {
  try {
    const { size } = await stat(file);
    if (size > maxFileBytes) throw unreadable(file, `it is larger than ${maxFileBytes} bytes`);
    const bytes = await readFileWithin(maxFileBytes, file);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes))
      throw unreadable(file, 'it is not UTF-8. Save it as UTF-8');
    return text;
  } catch (error) {
    if (error instanceof HubError) throw error;
    const code = errorCodeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === undefined) throw unreadable(file, messageOf(error), error);
    if (code === 'EISDIR') throw unreadable(file, 'it is a folder. Name a file in it', error);
    throw unreadable(file, `it cannot be read (${messageOf(error)}). Let this user read it`, error);
  }
}

const unreadable = (file: string, why: string, cause?: unknown) =>
  new HubError('HUB_CONFIG_INVALID', `${file}: ${why}`, { cause });

/**
 * Writes a file after saving a backup beside it. Resolves to the path of the backup, if the file existed.
 * Rejects with HUB_CONFIG_CONFLICT if the file changed since it was read, and with HUB_CONFIG_UNWRITABLE if it
 * cannot be written; the file is then unchanged and the backup removed.
 */
export async function writeWithBackup(
  change: FileChange,
  writeWhole: WriteWhole,
): Promise<string | undefined> {
  const { file, before } = change;
  let backup: string | undefined;
  try {
    if (before === undefined) await mkdir(dirname(file), { recursive: true });
    else backup = await saveBackup(file, before);
    await writeBack(change, writeWhole);
    return backup;
  } catch (error) {
    if (backup !== undefined) await rm(backup, { force: true });
    throw unwritable(file, error);
  }
}

/** Writes a file as `writeWithBackup` does, but without making a backup. */
export async function writeBack(
  { file, before, after }: FileChange,
  writeWhole: WriteWhole,
): Promise<void> {
  const check = async () => {
    if ((await readExactly(file)) !== before)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `${file}: another program has just changed it, so nothing was written. Try again`,
        { data: { retryable: true } },
      );
  };
  try {
    if (after !== undefined) return await writeWhole(file, after, check);
    await check();
    // Remove the target of a symbolic link, not the link: the link is the user's.
    await rm(await realpath(file));
  } catch (error) {
    throw unwritable(file, error);
  }
}

export const exists = async (path: string): Promise<boolean> =>
  await access(path).then(
    () => true,
    () => false,
  );

/** Returns facts about a file or folder; undefined if it does not exist or this user cannot see it. */
export async function findPath(path: string) {
  const found = await stat(path).catch(() => undefined); // The path does not exist, or this user cannot see it.
  if (!found || (!found.isFile() && !found.isDirectory())) return undefined;
  const { uid, gid, mode } = found;
  return { isFolder: found.isDirectory(), uid, gid, mode: mode & 0o777 };
}

/** Returns the backups of a file, newest first, without unreadable ones. */
export async function backupsOf(file: string) {
  const numbers = (await backupNumbersOf(file)).toReversed();
  return (
    await Array.fromAsync(numbers, async number => {
      const path = `${file}${suffix}${number}`;
      const text = await readExactly(path).catch(() => undefined); // An unreadable backup is left out.
      return text === undefined ? [] : [{ path, text }];
    })
  ).flat();
}

/** Returns the numbers of a file's backups in ascending order. */
async function backupNumbersOf(file: string): Promise<readonly number[]> {
  const prefix = `${basename(file)}${suffix}`;
  const names = await readdir(dirname(file)).catch(() => []);
  return names
    .filter(name => name.startsWith(prefix))
    .map(name => name.slice(prefix.length))
    .filter(number => /^[1-9]\d{0,8}$/.test(number))
    .map(Number)
    .sort((a, b) => a - b);
}

/** Saves a backup under the next free number, with the owner and mode of the file, which may contain keys. */
async function saveBackup(file: string, text: string): Promise<string> {
  const numbers = await backupNumbersOf(file);
  if (numbers.length >= maxBackups)
    throw new HubError(
      'HUB_CONFIG_UNWRITABLE',
      `${file}: there are ${maxBackups} backups of it already (${join(dirname(file), `${basename(file)}${suffix}*`)}). Remove those that you do not need`,
    );
  const path = `${file}${suffix}${(numbers.at(-1) ?? 0) + 1}`;
  const { uid, gid, mode } = await stat(file);
  await using handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    const own = await handle.stat();
    if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => {}); // Only root may change owners.
    await handle.chmod(mode & 0o777);
    await handle.sync();
    return path;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
