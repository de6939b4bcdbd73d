import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HubError, messageOf } from '#core';
import { isCode, readOrMakeKey } from './key-file.ts';
import { withdrawRunning, ownerKeyFile } from './running-hub.ts';
import { removeTempFiles, writeWhole } from './write-whole.ts';

/** The data folder: everything the hub writes to disk. One hub at a time holds it. */
export type DataDir = AsyncDisposable & {
  readonly path: string;
  /**
   * Identifies this hub on each container, network and volume that it creates. Stays the same across restarts.
   */
  readonly hubId: string;
  /** 32 random bytes, unique to this hub. Keys the digests that nobody else must be able to compute. */
  readonly secret: Buffer;
  /** The key that authorizes administration, from the file `owner-key`, which only this user may read. */
  readonly ownerKey: string;
};

/**
 * Opens the data folder, creating it if needed, and locks it until disposed. Also removes temporary files that
 * a killed hub left behind. The lock is a SQLite transaction: the system releases it however the process ends.
 * Throws HUB_DATA_LOCKED while another hub holds the lock, because two hubs with one id would remove each
 * other's containers, and HUB_CONFIG_INVALID if the folder cannot be used.
 */
export async function openDataDir(path: string, newId: () => string): Promise<DataDir> {
  const unusable = (error: unknown) =>
    new HubError(
      'HUB_CONFIG_INVALID',
      `DATA_DIR: ${JSON.stringify(path)} cannot be used (${messageOf(error)}). Name a folder that this user may write`,
      { cause: error },
    );
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(error);
  }
  const lockFile = join(path, 'hub.lock');
  let lock: DatabaseSync;
  try {
    await makePrivate(lockFile);
    lock = new DatabaseSync(lockFile);
  } catch (error) {
    throw unusable(error);
  }
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (codeOf(error) === notADatabase) throw notALock(lockFile, error);
    if (codeOf(error) !== busy) throw unusable(error);
    throw new HubError(
      'HUB_DATA_LOCKED',
      `DATA_DIR: another hub is running with ${JSON.stringify(path)}. Join it with "agenthub connect-stdio", stop it, or give this one a DATA_DIR and ROUTER_PORT of its own`,
      { cause: error },
    );
  }
  const close = async () => {
    await withdrawRunning(path);
    lock.close();
  };
  try {
    await removeTempFiles(path);
    await withdrawRunning(path);
    const hubId = await readOrMakeId(join(path, 'hub-id'), newId);
    const secret = await readOrMakeSecret(join(path, 'hub-secret'));
    const ownerKey = await readOrMakeKey(ownerKeyFile(path));
    return { path, hubId, secret, ownerKey, [Symbol.asyncDispose]: close };
  } catch (error) {
    lock.close();
    throw unusable(error);
  }
}

/**
 * The id of the hub that owns a data folder, which may be in use. Undefined if no hub has used the folder yet.
 */
export async function findHubId(path: string): Promise<string | undefined> {
  try {
    const id = (await readFile(join(path, 'hub-id'), 'utf8')).trim();
    return isHubId(id) ? id : undefined;
  } catch {
    // No hub has used the folder yet.
    return undefined;
  }
}

/** SQLITE_BUSY and SQLITE_NOTADB (sqlite.org/rescode.html). */
const busy = 5;
const notADatabase = 26;
const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'errcode' in error ? error.errcode : undefined;

/**
 * Restricts the lock file to this user: anyone who may read a file may also lock it, and so keep the hub from
 * starting. Throws if the file belongs to another user. An existing file is not opened, because closing it
 * would release the SQLite lock that this process may hold on it (POSIX locks).
 */
async function makePrivate(file: string): Promise<void> {
  try {
    await (await open(file, 'wx', 0o600)).close();
    return;
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  }
  const stats = await lstat(file);
  const uid = process.geteuid?.();
  if (uid === undefined) return;
  if (!stats.isFile()) throw new Error('hub.lock is not a regular file. Remove it');
  // Root may run a hub in another user's folder; that user controls the folder anyway.
  if (stats.uid !== uid && uid !== 0)
    throw new Error(
      `hub.lock belongs to user ${stats.uid}, and the hub runs as ${uid}: that user could keep it locked. Remove it when no hub of that user runs`,
    );
  if ((stats.mode & 0o077) !== 0) await chmod(file, 0o600);
}

const notALock = (file: string, cause: unknown) =>
  new HubError(
    'HUB_CONFIG_INVALID',
    `DATA_DIR: ${JSON.stringify(file)} is not the lock file of a hub (${messageOf(cause)}). Remove it if no hub is running there`,
    { cause },
  );

/** Every id generated so far has 16 characters. A shorter text means that the file was cut off. */
const isHubId = (text: string) => /^[a-z0-9]{16}$/.test(text);

/**
 * A secret that cannot be read is replaced; the hub then recreates the containers started under the old one.
 */
async function readOrMakeSecret(file: string): Promise<Buffer> {
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (/^[0-9a-f]{64}$/.test(stored.trim())) return Buffer.from(stored.trim(), 'hex');
  const secret = randomBytes(32);
  await writeWhole(file, `${secret.toString('hex')}\n`);
  return secret;
}

/** An unreadable id is an error, not replaced: a new id would orphan the containers of this hub. */
async function readOrMakeId(file: string, newId: () => string): Promise<string> {
  const stored = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (stored !== undefined) {
    const id = stored.trim();
    if (isHubId(id)) return id;
    throw new Error(
      `${file} holds ${id === '' ? 'nothing' : JSON.stringify(id.slice(0, 70))}, and a hub id has 16 characters: put it back, or delete it and the hub's containers`,
    );
  }
  const id = newId();
  await writeWhole(file, `${id}\n`);
  return id;
}
