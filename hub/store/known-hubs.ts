import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, tryParseJson } from '#core';
import { type RunningHub, findHubId, findRunning, isInUse } from './data-dir.ts';
import { readPrivate } from './private-file.ts';
import { writeWhole } from './write-whole.ts';

/** The files of a hub, as absolute paths. */
type NotedHub = {
  readonly dataDir: string;
  readonly configFile: string;
  readonly rulesFile: string;
  /** The `.env` file with the hub's variables. It may not exist. */
  readonly dotenvFile: string;
};

/** A hub of this user whose data folder still exists. */
export type KnownHub = NotedHub & {
  /** Id of the hub on its objects on the Docker engine; undefined if it has none yet. */
  readonly hubId: string | undefined;
  /** True while a hub runs with the data folder. */
  readonly isRunning: boolean;
  /** Addresses of the hub; undefined if it does not run or does not listen. */
  readonly running: RunningHub | undefined;
};

/** Maximum number of hubs to list, far more than a person has. */
const maxHubs = 100;
const maxBytes = 16_384;
const remedy = 'Delete it: the hub writes it again when it starts';
const noteOf = (folder: string, dataDir: string) =>
  join(folder, `${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}.json`);

/**
 * Records where a hub has its files, so that commands find it from any working folder. `folder`: the state folder of
 * this user, which is created. The record stays when the hub ends. Rejects with the error of the system.
 */
export async function noteHub(folder: string, hub: NotedHub): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeWhole(noteOf(folder, hub.dataDir), `${JSON.stringify(hub)}\n`);
}

/**
 * Returns the hubs of this user, running or not. A record only tells where to look: a hub counts as running only while
 * its process holds the lock of the data folder. Removes records of data folders that no longer exist.
 */
export async function findKnownHubs(folder: string): Promise<readonly KnownHub[]> {
  const names = await readdir(folder).catch(() => []); // No hub of this user has run.
  const notes = names.filter(name => name.endsWith('.json')).slice(0, maxHubs);
  const hubs = await Promise.all(notes.map(name => readKnown(join(folder, name))));
  return hubs.filter(hub => hub !== undefined);
}

/**
 * Finds a copy of this hub's data folder with which a hub of this user runs. Both hubs have one id, so each would adopt
 * and remove the containers of the other. Paths that lead to the folder itself are not copies.
 */
export async function findRunningCopy(
  folder: string,
  { dataDir, hubId }: { readonly dataDir: string; readonly hubId: string },
): Promise<string | undefined> {
  const own = await stat(dataDir);
  for (const hub of await findKnownHubs(folder)) {
    if (hub.hubId !== hubId || !hub.isRunning) continue;
    const { dev, ino } = await stat(hub.dataDir);
    if (dev !== own.dev || ino !== own.ino) return hub.dataDir;
  }
  return undefined;
}

async function readKnown(file: string): Promise<KnownHub | undefined> {
  const text = await readPrivate(file, { maxBytes, remedy }).catch(() => undefined); // It belongs to another user, or is not a regular file.
  const noted = parseNote(text);
  if (!noted) return undefined;
  const isThere = await stat(noted.dataDir).then(
    found => found.isDirectory(),
    () => false,
  );
  if (!isThere) {
    await rm(file, { force: true }).catch(() => {}); // The record stays, and is ignored.
    return undefined;
  }
  const running = await findRunning(noted.dataDir);
  return {
    ...noted,
    hubId: await findHubId(noted.dataDir),
    isRunning: running !== undefined || isInUse(noted.dataDir),
    running,
  };
}

function parseNote(text = ''): NotedHub | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { dataDir, configFile, rulesFile, dotenvFile } = value;
  return typeof dataDir === 'string' &&
    typeof configFile === 'string' &&
    typeof rulesFile === 'string' &&
    typeof dotenvFile === 'string'
    ? { dataDir, configFile, rulesFile, dotenvFile }
    : undefined;
}
