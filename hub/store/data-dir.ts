import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HubError, messageOf } from '#core';
import { readOrMakeKey } from './key-file.ts';
import { forgetRunning, ownerKeyFile } from './running-hub.ts';
import { removeLeft, writeWhole } from './write-whole.ts';

/** The folder of everything the hub writes, held by one hub at a time. */
export type DataDir = AsyncDisposable & {
  readonly path: string;
  /** Names this hub on every container, network and volume of its own. Stays the same over restarts. */
  readonly hubId: string;
  /** 32 random bytes that no other hub has, to make digests with that nobody else can make or guess. */
  readonly secret: Buffer;
  /** Lets its holder administer the hub: kept in `owner-key`, which only this user may read. */
  readonly ownerKey: string;
};

/**
 * Opens the data folder, makes it when it is absent, and locks it until disposed; what a hub that was killed
 * has half written there is removed. The lock is a SQLite transaction, so the system releases it however the process ends. Throws HUB_DATA_LOCKED
 * while another hub holds it: two hubs with one id would take each other's containers for stale.
 */
export async function openDataDir(path: string, newId: () => string): Promise<DataDir> {
  const refused = (error: unknown) =>
    new HubError(
      'HUB_CONFIG_INVALID',
      `DATA_DIR: ${JSON.stringify(path)} cannot be used (${messageOf(error)}). Name a folder that this user may write`,
      { cause: error },
    );
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw refused(error);
  }
  const lockFile = join(path, 'hub.lock');
  let lock: DatabaseSync;
  try {
    await keepToOneself(lockFile);
    lock = new DatabaseSync(lockFile);
  } catch (error) {
    throw refused(error);
  }
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (codeOf(error) === notADatabase) throw strangeLock(lockFile, error);
    if (codeOf(error) !== busy) throw refused(error);
    throw new HubError(
      'HUB_DATA_LOCKED',
      `DATA_DIR: another hub runs with ${JSON.stringify(path)}. Join it with "agenthub connect-stdio", stop it, or give this one a DATA_DIR and ROUTER_PORT of its own`,
      { cause: error },
    );
  }
  const close = async () => {
    await forgetRunning(path);
    lock.close();
  };
  try {
    await removeLeft(path);
    await forgetRunning(path);
    const hubId = await readOrMakeId(join(path, 'hub-id'), newId);
    const secret = await readOrMakeSecret(join(path, 'hub-secret'));
    const ownerKey = await readOrMakeKey(ownerKeyFile(path));
    return { path, hubId, secret, ownerKey, [Symbol.asyncDispose]: close };
  } catch (error) {
    lock.close();
    throw refused(error);
  }
}

/** The id of the hub of a data folder, which may be in use; undefined where no hub has run with it. */
export async function findHubId(path: string): Promise<string | undefined> {
  try {
    const id = (await readFile(join(path, 'hub-id'), 'utf8')).trim();
    return isHubId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** SQLITE_BUSY and SQLITE_NOTADB (sqlite.org/rescode.html). */
const busy = 5;
const notADatabase = 26;
const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'errcode' in error ? error.errcode : undefined;

/**
 * Makes the lock such that this user alone can open it: whoever may read a file may hold a lock on it, and keep the hub
 * from starting. Throws where it belongs to another user. An existing file is not opened: to close it again would
 * release the lock that this process may hold on it.
 */
async function keepToOneself(file: string): Promise<void> {
  try {
    await (await open(file, 'wx', 0o600)).close();
    return;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const found = await lstat(file);
  const own = process.geteuid?.();
  if (own === undefined) return;
  if (!found.isFile()) throw new Error('hub.lock is no file. Remove it');
  // Root may run a hub in a folder of somebody else, who may do there what they like.
  if (found.uid !== own && own !== 0)
    throw new Error(
      `hub.lock belongs to user ${found.uid}, and the hub runs as ${own}: that user could keep it locked. Remove it when no hub of that user runs`,
    );
  if ((found.mode & 0o077) !== 0) await chmod(file, 0o600);
}

const strangeLock = (file: string, cause: unknown) =>
  new HubError(
    'HUB_CONFIG_INVALID',
    `DATA_DIR: ${JSON.stringify(file)} holds something else than the lock of a hub (${messageOf(cause)}). Remove it when no hub runs there`,
    { cause },
  );

/** All that hubs have made so far have as many characters: a shorter one was cut off. */
const isHubId = (text: string) => /^[a-z0-9]{16}$/.test(text);

/** One that cannot be read is made anew: what was launched with the old one is then replaced. */
async function readOrMakeSecret(file: string): Promise<Buffer> {
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (/^[0-9a-f]{64}$/.test(kept.trim())) return Buffer.from(kept.trim(), 'hex');
  const secret = randomBytes(32);
  await writeWhole(file, `${secret.toString('hex')}\n`);
  return secret;
}

/** An id that cannot be read is not replaced: with it the containers of this hub would be disowned. */
async function readOrMakeId(file: string, newId: () => string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (kept !== undefined) {
    const id = kept.trim();
    if (isHubId(id)) return id;
    throw new Error(
      `${file} holds ${id === '' ? 'nothing' : JSON.stringify(id.slice(0, 70))}, and a hub id has 16 characters: put it back, or delete it and the hub's containers`,
    );
  }
  const id = newId();
  await writeWhole(file, `${id}\n`);
  return id;
}
