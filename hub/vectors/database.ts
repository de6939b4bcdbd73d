import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, type Log, messageOf } from '#core';

/** Version of the schema below. A file with another one is set aside: its content is only a cache. */
const schemaVersion = 1;

/** Upper bound, roughly, of the pages that a commit copies from the log: one or two milliseconds. */
const pagesPerCheckpoint = 50;

/** Number of damaged files that are kept for inspection. */
const maxSetAside = 3;

/**
 * No commit waits for the disk: that would block the whole hub, and the file is only a cache. Each row has
 * checksums, by which rows that a power cut damaged are found.
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

class UnknownSchema extends Error {}

type Needs = { readonly clock: Pick<Clock, 'now'>; readonly log: Pick<Log, 'warn'> };

/**
 * Opens the SQLite file of the points, and creates it where it is missing. A file that is damaged or has
 * another schema is set aside, and a new one is created. Throws where the file cannot be opened or created,
 * and while another process has it open.
 */
export function openDatabase(file: string, needs: Needs): DatabaseSync {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    return openOrCreate(file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    setAside(file, error, needs);
    return openOrCreate(file);
  }
}

function openOrCreate(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    database.exec(settings);
    const version = database.prepare('PRAGMA user_version').get()?.['user_version'];
    const isEmpty = !database.prepare('SELECT 1 FROM sqlite_schema').get();
    if (isEmpty) database.exec(schema);
    else if (version !== schemaVersion)
      throw new UnknownSchema(`schema version ${String(version)}, not ${schemaVersion}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Renames a damaged file, which must be closed, so that a new one can take its place. */
export function setAside(file: string, reason: unknown, { clock, log }: Needs): void {
  const folder = dirname(file);
  const prefix = `${basename(file)}.corrupt-`;
  const aside = `${prefix}${new Date(clock.now()).toISOString().replaceAll(':', '-')}`;
  renameSync(file, join(folder, aside));
  // SQLite would apply the log of the damaged file to the new one.
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  const earlier = readdirSync(folder).filter(name => name.startsWith(prefix));
  for (const name of earlier.toSorted().slice(0, -maxSetAside))
    rmSync(join(folder, name), { force: true });
  log.warn(
    { file, aside, error: messageOf(reason) },
    'the file of the semantic cache is damaged or of another version: it was renamed, and the cache starts empty',
  );
}

/** SQLITE_CORRUPT or SQLITE_NOTADB (sqlite.org/rescode.html), or an unknown schema. */
export const isDamage = (error: unknown): boolean =>
  error instanceof UnknownSchema || [11, 26].includes(codeOf(error));

/** SQLITE_FULL. */
export const isFull = (error: unknown): boolean => codeOf(error) === 13;

/** Primary result code of a SQLite error; 0 for other errors. */
const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : 0;
