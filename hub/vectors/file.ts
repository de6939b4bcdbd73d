import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, type Log, messageOf } from '#core';

/** How the file is laid out. One with another layout is set aside: what is in it can be made again. */
const schemaVersion = 1;

/** A commit copies about so many pages from the log at the most: a millisecond or two. */
const pagesPerCheckpoint = 50;

/** So many damaged files are kept for whoever wants to know what happened to them. */
const maxSetAside = 3;

/**
 * Nothing is synced to the disk: a wait for it would hold up the whole hub, and what is lost is only kept
 * to save time. A sum over each row tells what a power cut has left of it.
 */
const settings = `
  PRAGMA synchronous = OFF;
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA wal_autocheckpoint = ${pagesPerCheckpoint};
`;

const schema = `
  BEGIN;
  CREATE TABLE collections (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE points (
    number INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, id TEXT NOT NULL,
    scope TEXT NOT NULL, tag TEXT NOT NULL, expires_at INTEGER NOT NULL, vector_sum INTEGER NOT NULL,
    payload_sum INTEGER NOT NULL, payload TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (collection, id)
  ) STRICT;
  CREATE INDEX points_of_scope ON points (collection, scope);
  CREATE INDEX points_of_tag ON points (tag);
  CREATE INDEX points_by_expiry ON points (expires_at);
  PRAGMA user_version = ${schemaVersion};
  COMMIT;
`;

class OtherLayout extends Error {}

type Needs = { readonly clock: Pick<Clock, 'now'>; readonly log: Pick<Log, 'warn'> };

/**
 * Opens the file of the points, and makes it where there is none. One that is damaged, or that another
 * version of the hub has written, is set aside and begun anew. Throws with the error of the system where
 * there can be no file, and while another process has it open.
 */
export function openFile(file: string, needs: Needs): DatabaseSync {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    return openAsItIs(file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    setAside(file, error, needs);
    return openAsItIs(file);
  }
}

function openAsItIs(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    database.exec(settings);
    const version = database.prepare('PRAGMA user_version').get()?.['user_version'];
    const isEmpty = !database.prepare('SELECT 1 FROM sqlite_schema').get();
    if (isEmpty) database.exec(schema);
    else if (version !== schemaVersion)
      throw new OtherLayout(`its layout is version ${String(version)}, not ${schemaVersion}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Gives a damaged file, which nobody has open, another name, so that the next one can be begun. */
export function setAside(file: string, reason: unknown, { clock, log }: Needs): void {
  const folder = dirname(file);
  const prefix = `${basename(file)}.corrupt-`;
  const aside = `${prefix}${new Date(clock.now()).toISOString().replaceAll(':', '-')}`;
  renameSync(file, join(folder, aside));
  // The log belongs to the file, and would be read into the next one.
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  const earlier = readdirSync(folder).filter(name => name.startsWith(prefix));
  for (const name of earlier.toSorted().slice(0, -maxSetAside))
    rmSync(join(folder, name), { force: true });
  log.warn(
    { file, aside, error: messageOf(reason) },
    'the file of the semantic cache is damaged: it is set aside and begun anew',
  );
}

/** SQLITE_CORRUPT, SQLITE_NOTADB (sqlite.org/rescode.html), or a layout that we do not know. */
export const isDamage = (error: unknown): boolean =>
  error instanceof OtherLayout || [11, 26].includes(codeOf(error));

/** SQLITE_FULL. */
export const isFull = (error: unknown): boolean => codeOf(error) === 13;

/** The primary code of an error of SQLite; 0 for others. */
const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : 0;
