import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { VectorChunk } from './memory.ts';
import type { StoredVector } from './nearest.ts';
import { type Fields, type Point, VectorsFailure } from './vectors.ts';

export type Collection = { readonly id: number; readonly dimensions: number };

/** A point that was removed from the file. */
export type RemovedPoint = {
  readonly number: number;
  readonly collection: number;
  readonly scope: string;
};

export type Points = ReturnType<typeof createPoints>;

/** Numbers per read: 64 vectors of 768 numbers, which take one or two milliseconds. */
const floatsPerRead = 49_152;

/**
 * The points in an open file. Each call is short and throws the errors of SQLite. `onDamage` gets the number of
 * damaged rows that were removed.
 */
export function createPoints(database: DatabaseSync, onDamage: (rows: number) => void) {
  const prepare = (sql: string) => database.prepare(sql);
  const prepareRemoval = (condition: string) => {
    const statement = prepare(
      `DELETE FROM points WHERE ${condition} RETURNING number, collection, scope`,
    );
    return (...values: (string | number)[]): readonly RemovedPoint[] =>
      statement.all(...values).map(removedPointOf);
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
    /** Adds a point under the next number, in place of the one with the same id. */
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
        // After some errors SQLite has rolled back by itself.
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
    /** Number of points that have not expired. */
    countLive: (now: number) => numberIn(countLive.get(now), 'count'),
    /** The highest number given so far; 0 in a new file. */
    lastNumber: () => Number(selectLast.get()?.['seq'] ?? 0),
    /** The next points of a scope after a number; undefined if none follow. Damaged ones are removed. */
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
    /** Id and payload of a point. A damaged one is removed. */
    find(number: number): Omit<Point, 'vector'> | undefined {
      const row = selectPoint.get(number);
      if (!row) return undefined;
      const text = textIn(row, 'payload');
      if (crc32(text, numberIn(row, 'vector_sum')) === row['payload_sum'])
        return { id: textIn(row, 'id'), payload: JSON.parse(text) };
      removeDamaged([number]);
      return undefined;
    },
    removeId: (collection: number, id: string) => removeId(collection, id),
    /** Removes at most `limit` of the oldest points of a scope that has more than `maxPoints`. */
    removeExcess(collection: number, scope: string, maxPoints: number, limit: number) {
      const excess = numberIn(countScope.get(collection, scope), 'count') - maxPoints;
      return excess > 0 ? removeOldest(collection, scope, Math.min(excess, limit)) : [];
    },
    removeExpired: (now: number, limit: number) => removeExpired(now, limit),
    /** Removes at most `limit` points with a tag, or with any, and with numbers up to `upTo`. */
    removeTag: (tag: string | undefined, upTo: number, limit: number) =>
      tag === undefined ? removeAny(upTo, limit) : removeTagged(tag, upTo, limit),
  };
}

type Row = Readonly<Record<string, SQLOutputValue>> | undefined;

const removedPointOf = (row: Row): RemovedPoint => ({
  number: numberIn(row, 'number'),
  collection: numberIn(row, 'collection'),
  scope: textIn(row, 'scope'),
});

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

/** A view of the same bytes: node:sqlite gives each BLOB a buffer of its own. */
const floatsIn = ({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array =>
  new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT);
