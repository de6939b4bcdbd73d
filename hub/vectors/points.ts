import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type Fields, type Point, VectorsFailure } from './vectors.ts';
import { type Block, addTo, createBlock, rowsPerBlock } from './scan.ts';

export type Collection = { readonly id: number; readonly dimensions: number };

/** A point that is gone from the file. */
export type Gone = { readonly number: number; readonly collection: number; readonly scope: string };

/** Points in the file. Each call is short, and throws what SQLite throws. */
export interface Points {
  collection(name: string): Collection | undefined;
  addCollection(name: string, dimensions: number): Collection;
  /** Adds a point and gives it the highest number; resolves with it and with what it has replaced. */
  put(
    collection: number,
    point: Point,
    fields: Fields,
  ): { readonly number: number; readonly gone: readonly Gone[] };
  count(collection: number, scope: string): number;
  /** How many of all points have not expired. */
  countLive(now: number): number;
  /** The highest number that was ever given; 0 where none was. */
  last(): number;
  /** The points of a scope that follow a number, as many as one block holds; undefined where none does. */
  block(collection: Collection, scope: string, after: number): Block | undefined;
  /** What is kept of a point besides its vector. */
  find(number: number): Omit<Point, 'vector'> | undefined;
  removeId(collection: number, id: string): readonly Gone[];
  /** Removes the points of a scope that were put first, `count` of them. */
  removeOldest(collection: number, scope: string, count: number): readonly Gone[];
  /** Removes some that have expired, `count` at the most. */
  removeExpired(now: number, count: number): readonly Gone[];
  /** Removes points with a tag, or any, up to a number; `count` at the most. */
  removeTag(tag: string | undefined, upTo: number, count: number): readonly Gone[];
}

/** Prepares what is asked of an open file. `damaged` is told how many rows were no longer as written. */
export function createPoints(database: DatabaseSync, damaged: (rows: number) => void): Points {
  const of = (sql: string) => database.prepare(sql);
  const removal = (which: string) =>
    of(`DELETE FROM points WHERE ${which} RETURNING number, collection, scope`);
  const some = (which: string) =>
    removal(`number IN (SELECT number FROM points WHERE ${which} LIMIT ?)`);
  const findCollection = of('SELECT id, dimensions FROM collections WHERE name = ?');
  const addCollection = of('INSERT INTO collections (name, dimensions) VALUES (?, ?)');
  const insert = of(
    'INSERT INTO points (collection, id, scope, tag, expires_at, vector_sum, payload_sum, payload, vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const count = of('SELECT count(*) AS count FROM points WHERE collection = ? AND scope = ?');
  const countLive = of('SELECT count(*) AS count FROM points WHERE expires_at > ?');
  const last = of("SELECT seq FROM sqlite_sequence WHERE name = 'points'");
  const read = of(
    'SELECT number, expires_at, vector_sum, vector FROM points WHERE collection = ? AND scope = ? AND number > ? ORDER BY number LIMIT ?',
  );
  const find = of('SELECT id, vector_sum, payload_sum, payload FROM points WHERE number = ?');
  const removeNumber = removal('number = ?');
  const removeId = removal('collection = ? AND id = ?');
  const removeOldest = some('collection = ? AND scope = ? ORDER BY number');
  const removeExpired = some('expires_at <= ? ORDER BY expires_at');
  const removeTagged = some('tag = ? AND number <= ?');
  const removeAny = some('number <= ?');

  function drop(numbers: readonly number[]): void {
    for (const number of numbers) removeNumber.all(number);
    if (numbers.length > 0) damaged(numbers.length);
  }

  return {
    collection(name) {
      const row = findCollection.get(name);
      return row && { id: numberIn(row, 'id'), dimensions: numberIn(row, 'dimensions') };
    },
    addCollection(name, dimensions) {
      return { id: Number(addCollection.run(name, dimensions).lastInsertRowid), dimensions };
    },
    put(collection, { id, vector, payload }, { scope, tag, expiresAt }) {
      const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
      const text = JSON.stringify(payload);
      const sum = crc32(bytes);
      database.exec('BEGIN');
      try {
        const gone = removeId.all(collection, id).map(goneOf);
        const more = [sum, crc32(text, sum), text, bytes] as const;
        const { lastInsertRowid } = insert.run(collection, id, scope, tag, expiresAt, ...more);
        database.exec('COMMIT');
        return { number: Number(lastInsertRowid), gone };
      } catch (error) {
        // SQLite itself has rolled back what it could not write.
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
    count: (collection, scope) => numberIn(count.get(collection, scope), 'count'),
    countLive: now => numberIn(countLive.get(now), 'count'),
    last: () => Number(last.get()?.['seq'] ?? 0),
    block({ id, dimensions }, scope, after) {
      const rows = read.all(id, scope, after, rowsPerBlock(dimensions));
      if (rows.length === 0) return undefined;
      const block = createBlock(dimensions);
      const bad: number[] = [];
      for (const row of rows) {
        const number = numberIn(row, 'number');
        const bytes = row['vector'];
        const isWhole = bytes instanceof Uint8Array && bytes.byteLength === 4 * dimensions;
        if (isWhole && crc32(bytes) === row['vector_sum'])
          addTo(block, number, numbersIn(bytes), numberIn(row, 'expires_at'));
        else bad.push(number);
        block.last = number;
      }
      drop(bad);
      return block;
    },
    find(number) {
      const row = find.get(number);
      if (!row) return undefined;
      const text = textIn(row, 'payload');
      if (crc32(text, numberIn(row, 'vector_sum')) === row['payload_sum'])
        return { id: textIn(row, 'id'), payload: JSON.parse(text) };
      drop([number]);
      return undefined;
    },
    removeId: (collection, id) => removeId.all(collection, id).map(goneOf),
    removeOldest: (collection, scope, most) =>
      removeOldest.all(collection, scope, most).map(goneOf),
    removeExpired: (now, most) => removeExpired.all(now, most).map(goneOf),
    removeTag: (tag, upTo, most) =>
      (tag === undefined ? removeAny.all(upTo, most) : removeTagged.all(tag, upTo, most)).map(
        goneOf,
      ),
  };
}

type Row = Readonly<Record<string, SQLOutputValue>> | undefined;

const goneOf = (row: Row): Gone => ({
  number: numberIn(row, 'number'),
  collection: numberIn(row, 'collection'),
  scope: textIn(row, 'scope'),
});

function numberIn(row: Row, column: string): number {
  const value = row?.[column];
  if (typeof value === 'number') return value;
  throw new VectorsFailure('corrupt', `${column} of a point is no number`);
}

function textIn(row: Row, column: string): string {
  const value = row?.[column];
  if (typeof value === 'string') return value;
  throw new VectorsFailure('corrupt', `${column} of a point is no text`);
}

/** The same bytes: SQLite's driver gives each blob a buffer of its own. */
const numbersIn = ({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array =>
  new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT);
