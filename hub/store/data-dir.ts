import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
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
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(join(path, 'hub.lock'));
  } catch (error) {
    throw refused(error);
  }
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw refused(error);
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
    return (await readFile(join(path, 'hub-id'), 'utf8')).trim();
  } catch {
    return undefined;
  }
}

/** SQLITE_BUSY (sqlite.org/rescode.html); anything else is a file that is no lock of ours. */
const isBusy = (error: unknown) =>
  error instanceof Error && 'errcode' in error && error.errcode === 5;

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
    if (/^[a-z0-9]{8,64}$/.test(kept.trim())) return kept.trim();
    throw new Error(`${file} holds no hub id: put it back, or delete it and the hub's containers`);
  }
  const id = newId();
  await writeWhole(file, `${id}\n`);
  return id;
}
