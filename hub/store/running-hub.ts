import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isObject, tryParseJson } from '#core';

/** The address of the hub that is running with a data folder. */
export type RunningHub = {
  /** The base URL for clients on the same machine, such as `http://localhost:9090`. */
  readonly url: string;
  /** The addresses it listens on, such as `127.0.0.1:9090` and `[::1]:9090`. */
  readonly sockets: readonly string[];
};

/** Path of the file with the key that authorizes administration of the hub. */
export const ownerKeyFile = (path: string): string => join(path, 'owner-key');

const fileOf = (path: string) => join(path, 'hub-running.json');

/**
 * Records where the hub of this data folder listens. Call it only while holding the lock of the folder. The
 * file is replaced by a rename, without an fsync, which would delay the start: after a machine crash no hub is
 * running anyway.
 */
export async function announceRunning(path: string, hub: RunningHub): Promise<void> {
  const tempFile = `${fileOf(path)}.new`;
  await rm(tempFile, { force: true });
  await writeFile(tempFile, `${JSON.stringify({ ...hub, pid: process.pid })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  await rename(tempFile, fileOf(path));
}

/** Removes the record written by `announceRunning`. Call it only while holding the lock of the folder. */
export async function withdrawRunning(path: string): Promise<void> {
  await rm(fileOf(path), { force: true });
}

/**
 * Finds the hub that is running with this data folder. Undefined if none is. The record is trusted only while
 * its process holds the lock of the folder: that hub owns its ports for as long, so a connection to one of its
 * addresses cannot reach a program that took over the port.
 */
export async function findRunning(path: string): Promise<RunningHub | undefined> {
  const record = parse(await readFile(fileOf(path), 'utf8').catch(() => ''));
  if (!record || !isOwnProcess(record.pid) || !isLocked(path)) return undefined;
  return { url: record.url, sockets: record.sockets };
}

function parse(text: string): (RunningHub & { readonly pid: number }) | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { url, sockets, pid } = value;
  if (typeof url !== 'string' || typeof pid !== 'number' || !Array.isArray(sockets))
    return undefined;
  return { url, pid, sockets: sockets.filter(socket => typeof socket === 'string') };
}

/** Signal 0 succeeds only for processes of this user. */
function isOwnProcess(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    // No such process, or another user's.
    return false;
  }
}

/**
 * Whether a hub holds the lock. SQLite refuses readers during an exclusive transaction
 * (sqlite.org/lockingv3.html) with SQLITE_BUSY, which is 5.
 */
function isLocked(path: string): boolean {
  try {
    using lock = new DatabaseSync(join(path, 'hub.lock'), { readOnly: true, timeout: 0 });
    lock.exec('SELECT 1 FROM sqlite_master');
    return false;
  } catch (error) {
    return error instanceof Error && 'errcode' in error && error.errcode === 5;
  }
}
