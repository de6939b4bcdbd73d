import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isObject } from '#core';

/** The hub that runs with a data folder. */
export type RunningHub = {
  /** By which it is opened on its own machine, such as `http://localhost:9090`. */
  readonly url: string;
  /** The sockets it listens on, as `127.0.0.1:9090` and `[::1]:9090`. */
  readonly sockets: readonly string[];
};

/** The file of the key that administers the hub of a data folder. */
export const ownerKeyFile = (path: string): string => join(path, 'owner-key');

const fileOf = (path: string) => join(path, 'hub-running.json');

/**
 * Says where the hub of this folder listens. Only the hub that holds the lock of the folder may. The file is replaced
 * as a whole, but not synced to the disk, which would delay the start: after a crash of the machine no hub runs.
 */
export async function announceRunning(path: string, hub: RunningHub): Promise<void> {
  const beside = `${fileOf(path)}.new`;
  await rm(beside, { force: true });
  await writeFile(beside, `${JSON.stringify({ ...hub, pid: process.pid })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  await rename(beside, fileOf(path));
}

/** Removes what a hub has announced. Only the hub that holds the lock of the folder may. */
export async function forgetRunning(path: string): Promise<void> {
  await rm(fileOf(path), { force: true });
}

/**
 * The hub that runs with this folder and listens; undefined where there is none. The lock of the folder is
 * held as long as that hub lives, and its ports are its own for that time: whoever connects to one of its
 * sockets reaches this hub, and not a program that took the port of a hub that has ended.
 */
export async function findRunning(path: string): Promise<RunningHub | undefined> {
  const found = parse(await readFile(fileOf(path), 'utf8').catch(() => ''));
  if (!found || !isOwnProcess(found.pid) || !isLocked(path)) return undefined;
  return { url: found.url, sockets: found.sockets };
}

function parse(text: string): (RunningHub & { readonly pid: number }) | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { url, sockets, pid } = value;
  if (typeof url !== 'string' || typeof pid !== 'number' || !Array.isArray(sockets))
    return undefined;
  return { url, pid, sockets: sockets.filter(socket => typeof socket === 'string') };
}

/** Signal 0 reaches processes of this user only. */
function isOwnProcess(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Whether a hub holds the lock: a reader is refused for as long (sqlite.org/lockingv3.html). */
function isLocked(path: string): boolean {
  try {
    using lock = new DatabaseSync(join(path, 'hub.lock'), { readOnly: true, timeout: 0 });
    lock.exec('SELECT 1 FROM sqlite_master');
    return false;
  } catch (error) {
    return error instanceof Error && 'errcode' in error && error.errcode === 5;
  }
}
