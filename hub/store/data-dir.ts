import { randomBytes } from 'node:crypto';
import { type Stats, constants } from 'node:fs';
import {
  access,
  chmod,
  lstat,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  HubError,
  errorCodeOf,
  isSqliteBusy,
  ignoreMissing,
  isObject,
  messageOf,
  tryParseJson,
} from '#core';
import { readKey, readOrMakeKey } from './key-file.ts';
import { removeTempFiles, writeWhole } from './write-whole.ts';

/** The data folder, which contains everything that the hub writes to disk. Only one hub at a time can open it. */
export type DataDir = Awaited<ReturnType<typeof openDataDir>>;

/** Maximum time in ms for which a command such as `agenthub check` reads the lock file, which no hub can lock then. */
const checkedMs = 200;

/**
 * Opens the data folder, creating it if needed, and locks it until disposed. Also removes temporary files that a killed
 * hub left behind, except those of the secrets. The lock is a SQLite transaction: the system releases it however the
 * process ends. Throws HUB_DATA_LOCKED while another hub holds the lock, because two hubs with one id would remove each
 * other's containers, and HUB_CONFIG_INVALID if the folder cannot be used. `waitMs`: how long this thread waits for the
 * lock.
 */
export async function openDataDir(path: string, newId: () => string, waitMs = checkedMs) {
  const lockFile = join(path, 'hub.lock');
  using undo = new DisposableStack();
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await makePrivate(lockFile);
    const lock = undo.use(new DatabaseSync(lockFile, { timeout: waitMs }));
    lock.exec('BEGIN EXCLUSIVE');
    // Commands write the secrets without this lock, so a temporary file of them may be in use.
    await removeTempFiles(path, async name => !name.startsWith('secrets.'));
    await withdrawRunning(path);
    const hubId = await readOrMakeId(path, newId);
    const secret = await readOrMakeSecret(join(path, 'hub-secret'));
    const ownerKey = await readOrMakeKey(ownerKeyFile(path));
    undo.move();
    return {
      /** Absolute path of the data folder, because containers mount folders in it. */
      path: resolve(path),
      /** Id of this hub, on each container, network and volume that it creates. Stays the same across restarts. */
      hubId,
      /** 32 random bytes, unique to this hub: the key of digests that only this hub may be able to compute. */
      secret,
      /** The key that authorizes administration, from the file `owner-key`, which only this user may read. */
      ownerKey,
      async [Symbol.asyncDispose]() {
        await withdrawRunning(path);
        lock.close();
      },
    };
  } catch (error) {
    throw openFailure(path, lockFile, error);
  }
}

/**
 * Checks that a hub could use this data folder, which another hub may be using. Creates and locks nothing, and removes
 * permissions of other users for the owner's key. Rejects with HUB_CONFIG_INVALID.
 */
export async function checkDataDir(path: string): Promise<void> {
  const lockFile = join(path, 'hub.lock');
  try {
    const folder = await findExisting(resolve(path));
    if (!(await stat(folder)).isDirectory())
      throw Object.assign(new Error(`${folder} is not a folder`), { code: 'ENOTDIR' });
    await access(folder, constants.W_OK | constants.X_OK);
    const lock = await lstat(lockFile).catch(ignoreMissing);
    if (lock) requireLockFile(lockFile, lock);
    const id = await readFile(idFileOf(path), 'utf8').catch(ignoreMissing);
    if (id !== undefined) requireHubId(path, id);
    await readKey(ownerKeyFile(path));
  } catch (error) {
    throw openFailure(path, lockFile, error);
  }
}

/** Returns the path, or the nearest folder above it that exists. */
async function findExisting(path: string): Promise<string> {
  const found = await stat(path).catch(ignoreMissing);
  const parent = dirname(path);
  return found || parent === path ? path : await findExisting(parent);
}

function openFailure(path: string, lockFile: string, cause: unknown): HubError {
  if (isSqliteBusy(cause))
    return new HubError(
      'HUB_DATA_LOCKED',
      `DATA_DIR: another hub is running with ${JSON.stringify(path)}. Join it with "agenthub connect-stdio", stop it, or give this one a DATA_DIR and ROUTER_PORT of its own`,
      { cause },
    );
  const sqliteCode = cause instanceof Error && 'errcode' in cause ? cause.errcode : undefined;
  const code = errorCodeOf(cause) ?? '';
  const isFull = ['ENOSPC', 'EDQUOT'].includes(code) || sqliteCode === databaseFull;
  const remedy = isFull
    ? 'Make room on its disk, or name another folder'
    : 'Name a folder that this user may write';
  // The hub's own errors have no code, and contain the remedy.
  const advice = code === '' ? '' : `. ${remedy}`;
  const problem =
    sqliteCode === notADatabase
      ? `${JSON.stringify(lockFile)} is not the lock file of a hub (${messageOf(cause)}). Remove it if no hub is running there`
      : `${JSON.stringify(path)} cannot be used (${messageOf(cause)})${advice}`;
  return new HubError('HUB_CONFIG_INVALID', `DATA_DIR: ${problem}`, { cause });
}

/**
 * Returns the id of the hub that owns a data folder, which may be in use. Undefined if no hub has used the folder yet.
 */
export async function findHubId(path: string): Promise<string | undefined> {
  try {
    const id = (await readFile(idFileOf(path), 'utf8')).trim();
    return isHubId(id) ? id : undefined;
  } catch {
    return undefined; // No hub has used the folder yet.
  }
}

const idFileOf = (path: string) => join(path, 'hub-id');

/** SQLITE_FULL and SQLITE_NOTADB (sqlite.org/rescode.html). */
const databaseFull = 13;
const notADatabase = 26;

/**
 * Restricts the lock file to this user: any user who may read it could lock it and so keep the hub from starting. An
 * existing file is not opened, because closing it would release the lock of this process (POSIX locks).
 */
async function makePrivate(file: string): Promise<void> {
  try {
    await (await open(file, 'wx', 0o600)).close();
    return;
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  }
  const stats = await lstat(file);
  requireOwnLock(stats);
  if (process.geteuid && (stats.mode & 0o077) !== 0) await chmod(file, 0o600);
}

/** Throws if the lock file is not a regular file of this user. */
function requireOwnLock(stats: Stats): void {
  const uid = process.geteuid?.();
  if (uid === undefined) return;
  if (!stats.isFile()) throw new Error('hub.lock is not a regular file. Remove it');
  // Root may run a hub in another user's folder; that user controls the folder anyway.
  if (stats.uid !== uid && uid !== 0)
    throw new Error(
      `hub.lock belongs to user ${stats.uid}, and the hub runs as ${uid}: that user could keep it locked. Remove it when no hub of that user runs`,
    );
}

/** Throws if the lock file is not one that a hub could lock, or not a database. */
function requireLockFile(file: string, stats: Stats): void {
  requireOwnLock(stats);
  try {
    readLock(file);
  } catch (error) {
    if (!isSqliteBusy(error)) throw error;
  }
}

/** True for 16 characters, the length of every id generated so far. A shorter text means that the file was cut off. */
const isHubId = (text: string) => /^[a-z0-9]{16}$/.test(text);

/**
 * Reads the hub's secret. If it cannot be read, it is replaced; the hub then recreates the containers started under the
 * old one.
 */
async function readOrMakeSecret(file: string): Promise<Buffer> {
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (/^[0-9a-f]{64}$/.test(stored.trim())) return Buffer.from(stored.trim(), 'hex');
  const secret = randomBytes(32);
  await writeWhole(file, `${secret.toString('hex')}\n`);
  return secret;
}

/**
 * Reads the hub's id, or makes one if there is none. An unreadable id is an error: a new id would orphan the containers
 * of this hub.
 */
async function readOrMakeId(path: string, newId: () => string): Promise<string> {
  const file = idFileOf(path);
  const text = await readFile(file, 'utf8').catch(ignoreMissing);
  if (text !== undefined) return requireHubId(path, text);
  const made = newId();
  await writeWhole(file, `${made}\n`);
  return made;
}

function requireHubId(path: string, text: string): string {
  const id = text.trim();
  if (isHubId(id)) return id;
  throw new Error(
    `${idFileOf(path)} holds ${id === '' ? 'nothing' : JSON.stringify(id.slice(0, 70))}, and a hub id has 16 characters: put it back, or delete it and the hub's containers`,
  );
}

/** The addresses of the hub that is running with a data folder. */
export type RunningHub = {
  /** The base URL for clients on the same machine, such as `http://localhost:9090`. */
  readonly url: string;
  /** The addresses that the hub listens on, such as `127.0.0.1:9090` and `[::1]:9090`. */
  readonly sockets: readonly string[];
};

/** Path of the file with the key that authorizes administration of the hub. */
export const ownerKeyFile = (path: string): string => join(path, 'owner-key');

const runningFileOf = (path: string) => join(path, 'hub-running.json');

/**
 * Records where the hub listens. Call it only while holding the lock of the folder. No fsync: no hub runs after a
 * machine crash.
 */
export async function announceRunning(path: string, hub: RunningHub): Promise<void> {
  const tempFile = `${runningFileOf(path)}.new`;
  await rm(tempFile, { force: true });
  await writeFile(tempFile, `${JSON.stringify({ ...hub, pid: process.pid })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  await rename(tempFile, runningFileOf(path));
}

/** Removes the record written by `announceRunning`. Call it only while holding the lock of the folder. */
const withdrawRunning = (path: string) => rm(runningFileOf(path), { force: true });

/**
 * Finds the hub that is running with a data folder. Its record is trusted only while its process holds the lock, and so
 * owns its ports.
 */
export async function findRunning(path: string): Promise<RunningHub | undefined> {
  const record = parseRunning(await readFile(runningFileOf(path), 'utf8').catch(() => ''));
  if (!record || !isOwnProcess(record.pid) || !isInUse(path)) return undefined;
  return { url: record.url, sockets: record.sockets };
}

function parseRunning(text: string): (RunningHub & { readonly pid: number }) | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { url, sockets, pid } = value;
  if (typeof url !== 'string' || typeof pid !== 'number' || !Array.isArray(sockets))
    return undefined;
  return { url, pid, sockets: sockets.filter(socket => typeof socket === 'string') };
}

/** True for a running process of this user: signal 0 fails for all others. */
function isOwnProcess(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // No such process, or another user's.
  }
}

/** True if a hub holds the lock: SQLite refuses readers during an exclusive transaction (sqlite.org/lockingv3.html). */
export function isInUse(path: string): boolean {
  try {
    readLock(join(path, 'hub.lock'));
    return false;
  } catch (error) {
    return isSqliteBusy(error);
  }
}

/** Reads the lock file. Throws the error of SQLite if a hub holds the lock, or if the file is not a database. */
function readLock(file: string): void {
  using lock = new DatabaseSync(file, { readOnly: true, timeout: 0 });
  lock.exec('SELECT 1 FROM sqlite_master');
}
