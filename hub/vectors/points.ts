import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type Clock, type Log, messageOf } from '#core';
import type { StoredVector, VectorChunk } from './memory.ts';
import { type Fields, type Point, VectorsFailure } from './vectors.ts';

export type Collection = { readonly id: number; readonly dimensions: number };

export type RemovedPoint = {
  readonly number: number;
  readonly collection: number;
  readonly scope: string;
};

export type Points = ReturnType<typeof createPoints>;

/** Number of floats per read: 64 vectors of 768, which take one or two milliseconds. */
const floatsPerRead = 49_152;

/**
 * Creates the functions that read and write points in an open file. Each call is short and throws the errors of SQLite.
 * `onDamage` is called with the number of damaged rows that were removed.
 */
export function createPoints(database: DatabaseSync, onDamage: (rows: number) => void) {
  const prepare = (sql: string) => database.prepare(sql);
  const prepareRemoval = (condition: string) => {
    const statement = prepare(
      `DELETE FROM points WHERE ${condition} RETURNING number, collection, scope`,
    );
    return (...values: (string | number)[]): readonly RemovedPoint[] =>
      statement.all(...values).map(row => ({
        number: numberIn(row, 'number'),
        collection: numberIn(row, 'collection'),
        scope: textIn(row, 'scope'),
      }));
  };
  const prepareLimitedRemoval = (condition: string) =>
    prepareRemoval(`number IN (SELECT number FROM points WHERE ${condition} LIMIT ?)`);

  const selectCollection = prepare('SELECT id, dimensions FROM collections WHERE name = ?');
  const insertCollection = prepare('INSERT INTO collections (name, dimensions) VALUES (?, ?)');
  const insertPoint = prepare(
    'INSERT INTO points (collection, id, scope, tag, expires_at, vector_sum, payload_sum, payload, vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const countScope = prepare(
    'SELECT count(*) AS count FROM points WHERE collection = ? AND scope = ?',
  );
  const countLive = prepare('SELECT count(*) AS count FROM points WHERE expires_at > ?');
  const selectLast = prepare("SELECT seq FROM sqlite_sequence WHERE name = 'points'");
  const selectVectors = prepare(
    'SELECT number, expires_at, vector_sum, vector FROM points WHERE collection = ? AND scope = ? AND number > ? ORDER BY number LIMIT ?',
  );
  const selectPoint = prepare(
    'SELECT id, vector_sum, payload_sum, payload FROM points WHERE number = ?',
  );
  const removeNumber = prepareRemoval('number = ?');
  const removeId = prepareRemoval('collection = ? AND id = ?');
  const removeOldest = prepareLimitedRemoval('collection = ? AND scope = ? ORDER BY number');
  const removeExpired = prepareLimitedRemoval('expires_at <= ? ORDER BY expires_at');
  const removeTagged = prepareLimitedRemoval('tag = ? AND number <= ?');
  const removeAny = prepareLimitedRemoval('number <= ?');

  function removeDamaged(numbers: readonly number[]): void {
    for (const number of numbers) removeNumber(number);
    if (numbers.length > 0) onDamage(numbers.length);
  }

  return {
    collection(name: string): Collection | undefined {
      const row = selectCollection.get(name);
      return row && { id: numberIn(row, 'id'), dimensions: numberIn(row, 'dimensions') };
    },
    addCollection(name: string, dimensions: number): Collection {
      return { id: Number(insertCollection.run(name, dimensions).lastInsertRowid), dimensions };
    },
    /** Adds a point with the next number, and removes the previous point with the same id. */
    put(
      collection: number,
      { id, vector, payload }: Point,
      { scope, tag, expiresAt }: Fields,
    ): { readonly number: number; readonly removed: readonly RemovedPoint[] } {
      const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
      const text = JSON.stringify(payload);
      const sum = crc32(bytes);
      database.exec('BEGIN');
      try {
        const removed = removeId(collection, id);
        const content = [sum, crc32(text, sum), text, bytes] as const;
        const inserted = insertPoint.run(collection, id, scope, tag, expiresAt, ...content);
        database.exec('COMMIT');
        return { number: Number(inserted.lastInsertRowid), removed };
      } catch (error) {
        // SQLite rolls back by itself after some errors.
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
    countLive: (now: number) => numberIn(countLive.get(now), 'count'),
    /** Returns the highest number assigned so far; 0 in a new file. */
    lastNumber: () => Number(selectLast.get()?.['seq'] ?? 0),
    /** Returns the points of a scope after a number; undefined if there are none. Removes damaged points. */
    read({ id, dimensions }: Collection, scope: string, after: number): VectorChunk | undefined {
      const limit = Math.max(1, Math.floor(floatsPerRead / dimensions));
      const rows = selectVectors.all(id, scope, after, limit);
      if (rows.length === 0) return undefined;
      const vectors: StoredVector[] = [];
      const damaged: number[] = [];
      for (const row of rows) {
        const number = numberIn(row, 'number');
        const bytes = row['vector'];
        const isWhole = bytes instanceof Uint8Array && bytes.byteLength === 4 * dimensions;
        if (isWhole && crc32(bytes) === row['vector_sum'])
          vectors.push({ number, vector: floatsIn(bytes), expiresAt: numberIn(row, 'expires_at') });
        else damaged.push(number);
      }
      removeDamaged(damaged);
      return { vectors, upTo: numberIn(rows.at(-1), 'number') };
    },
    /** Returns the id and payload of a point, or undefined. Removes a damaged point. */
    find(number: number): Omit<Point, 'vector'> | undefined {
      const row = selectPoint.get(number);
      if (!row) return undefined;
      const text = textIn(row, 'payload');
      if (crc32(text, numberIn(row, 'vector_sum')) === row['payload_sum'])
        return { id: textIn(row, 'id'), payload: JSON.parse(text) };
      removeDamaged([number]);
      return undefined;
    },
    /** If a scope has more than `maxPoints`, removes its oldest points, at most `limit`. */
    removeExcess(collection: number, scope: string, maxPoints: number, limit: number) {
      const excess = numberIn(countScope.get(collection, scope), 'count') - maxPoints;
      return excess > 0 ? removeOldest(collection, scope, Math.min(excess, limit)) : [];
    },
    removeExpired,
    /** Removes at most `limit` points with a number up to `upTo`: those with the tag, or all if `tag` is undefined. */
    removeTag: (tag: string | undefined, upTo: number, limit: number) =>
      tag === undefined ? removeAny(upTo, limit) : removeTagged(tag, upTo, limit),
  };
}

type Row = Readonly<Record<string, SQLOutputValue>> | undefined;

function numberIn(row: Row, column: string): number {
  const value = row?.[column];
  if (typeof value === 'number') return value;
  throw new VectorsFailure('corrupt', `${column} of a point is not a number`);
}

function textIn(row: Row, column: string): string {
  const value = row?.[column];
  if (typeof value === 'string') return value;
  throw new VectorsFailure('corrupt', `${column} of a point is not text`);
}

/** Returns a view of the same bytes, which is safe because node:sqlite allocates a buffer for each BLOB. */
const floatsIn = ({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array =>
  new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT);

/** Version of the schema below. A file with another version is renamed and replaced: its content is only a cache. */
const schemaVersion = 1;

/** Approximate maximum of pages that a commit copies from the write-ahead log, which takes one or two milliseconds. */
const pagesPerCheckpoint = 50;

/** Maximum number of damaged files that are kept for inspection. */
const maxSetAside = 3;

/**
 * Commits do not wait for the disk, because that would block the whole hub, and the file is only a cache. Checksums in
 * each row detect rows that a power failure damaged.
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
 * Opens the SQLite file of the points. A missing file is created, readable only by its owner. A damaged file, or one
 * with another schema, is renamed and replaced by a new one. Throws if the file cannot be opened or created, or while
 * another process has it open.
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
  const isNew = !existsSync(file);
  const database = new DatabaseSync(file);
  try {
    // SQLite gives its write-ahead log the mode of the file.
    if (isNew) chmodSync(file, 0o600);
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

/** Renames a damaged file, which must be closed, so that a new one can be created. */
export function setAside(file: string, reason: unknown, { clock, log }: Needs): void {
  const folder = dirname(file);
  const prefix = `${basename(file)}.corrupt-`;
  const aside = `${prefix}${new Date(clock.now()).toISOString().replaceAll(':', '-')}`;
  renameSync(file, join(folder, aside));
  // SQLite would apply the write-ahead log of the damaged file to the new file.
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  const earlier = readdirSync(folder).filter(name => name.startsWith(prefix));
  for (const name of earlier.toSorted().slice(0, -maxSetAside))
    rmSync(join(folder, name), { force: true });
  log.warn(
    { file, aside, error: messageOf(reason) },
    'the file of the semantic cache is damaged or of another version: it was renamed, and the cache starts empty',
  );
}

/** True for SQLITE_CORRUPT, SQLITE_NOTADB (sqlite.org/rescode.html) and an unknown schema. */
export const isDamage = (error: unknown): boolean =>
  error instanceof UnknownSchema || [11, 26].includes(codeOf(error));

export const isFull = (error: unknown): boolean => codeOf(error) === 13;

/** Primary result code of a SQLite error; 0 for other errors. */
const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : 0;
