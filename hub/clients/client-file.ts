import type { Stats } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readFile,
  readdir,
  realpath,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { unwritable } from '#config';
import { HubError, messageOf } from '#core';

/** Replaces a file whole, as `writeWhole` of the store does. */
export type WriteWhole = (file: string, text: string, check: () => Promise<void>) => Promise<void>;

/** What a file is to hold: a text, or nothing, which is no file. */
export type Writing = {
  readonly file: string;
  /** What it held when it was read. */
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** A file that had to be kept as it was, and what it held. */
export type Backup = { readonly path: string; readonly text: string };

/** Histories of agents make these files large. */
const maxFileBytes = 256 * 1024 * 1024;
/** Backups beside one file; the person decides which may go. */
const maxBackups = 99;
const suffix = '.agenthub-backup-';

/**
 * The text of a file, undefined where there is none. Throws HUB_CONFIG_INVALID for what is no text in UTF-8 or
 * cannot be read: what is written back would be something else.
 */
export async function readExactly(file: string): Promise<string | undefined> {
  try {
    const { size } = await stat(file);
    if (size > maxFileBytes) throw refused(file, `it is larger than ${maxFileBytes} bytes`);
    const bytes = await readFile(file);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes)) throw refused(file, 'it is not UTF-8. Save it as UTF-8');
    return text;
  } catch (error) {
    if (error instanceof HubError) throw error;
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'EISDIR') throw refused(file, 'it is a folder. Name a file in it', error);
    throw refused(file, `it cannot be read (${messageOf(error)}). Let this user read it`, error);
  }
}

const refused = (file: string, why: string, cause?: unknown) =>
  new HubError('HUB_CONFIG_INVALID', `${file}: ${why}`, { cause });

/**
 * Writes a file, of which a copy is kept beside it where there was one; answers with the path of that. Throws
 * HUB_CONFIG_CONFLICT where somebody has written it since it was read, and HUB_CONFIG_UNWRITABLE where it cannot
 * be written: it is as it was then, and no copy is left.
 */
export async function writeWithBackup(
  { file, before, after }: Writing,
  writeWhole: WriteWhole,
): Promise<string | undefined> {
  let backup: string | undefined;
  try {
    if (before === undefined) await mkdir(dirname(file), { recursive: true });
    else backup = await keep(file, before);
    await write({ file, before, after }, writeWhole);
    return backup;
  } catch (error) {
    if (backup !== undefined) await rm(backup, { force: true });
    throw unwritable(file, error);
  }
}

/** As `writeWithBackup`, and keeps no copy: what is written was kept before. */
export async function writeBack(writing: Writing, writeWhole: WriteWhole): Promise<void> {
  try {
    await write(writing, writeWhole);
  } catch (error) {
    throw unwritable(writing.file, error);
  }
}

async function write({ file, before, after }: Writing, writeWhole: WriteWhole): Promise<void> {
  const check = async () => {
    if ((await readExactly(file)) !== before)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `${file}: somebody else has just written it, so nothing was changed. Try again`,
        { data: { retryable: true } },
      );
  };
  if (after !== undefined) return await writeWhole(file, after, check);
  await check();
  // Of a link, what it leads to: the link was there before.
  await rm(await realpath(file));
}

/** Copies of a file that were kept, the newest first. What cannot be read counts for nothing. */
export async function backupsOf(file: string): Promise<readonly Backup[]> {
  const backups: Backup[] = [];
  for (const number of (await numbersOf(file)).toReversed()) {
    const path = `${file}${suffix}${number}`;
    const text = await readExactly(path).catch(() => undefined);
    if (text !== undefined) backups.push({ path, text });
  }
  return backups;
}

/** The numbers of the copies beside a file, the smallest first. */
async function numbersOf(file: string): Promise<readonly number[]> {
  const prefix = `${basename(file)}${suffix}`;
  const names = await readdir(dirname(file)).catch(() => []);
  return names
    .filter(name => name.startsWith(prefix))
    .map(name => name.slice(prefix.length))
    .filter(number => /^[1-9]\d{0,8}$/.test(number))
    .map(Number)
    .sort((a, b) => a - b);
}

/** Copies a file to the next free name beside it. It may hold keys: only who may read the file may read the copy. */
async function keep(file: string, text: string): Promise<string> {
  const numbers = await numbersOf(file);
  if (numbers.length >= maxBackups)
    throw new HubError(
      'HUB_CONFIG_UNWRITABLE',
      `${file}: there are ${maxBackups} copies of it beside it already (${join(dirname(file), `${basename(file)}${suffix}*`)}). Remove those that you do not need`,
    );
  const path = `${file}${suffix}${(numbers.at(-1) ?? 0) + 1}`;
  const before = await stat(file);
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await giveTo(handle, before);
    await handle.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  return path;
}

async function giveTo(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const now = await handle.stat();
  // Only root gives a file away.
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid).catch(() => {});
  await handle.chmod(mode & 0o777);
}

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? error.code : undefined;
