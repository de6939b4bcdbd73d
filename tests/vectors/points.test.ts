import assert from 'node:assert/strict';
import { mkdtempDisposable, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import {
  createPoints,
  isDamage,
  isFull,
  openDatabase,
  setAside,
} from '../../hub/vectors/points.ts';
import { pointOf } from './contract.ts';

async function openPoints() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-points-'));
  const needs = { clock: createManualClock(), log: silent };
  const file = join(folder.path, 'vectors.db');
  const database = openDatabase(file, needs);
  const damaged: number[] = [];
  const points = createPoints(database, rows => damaged.push(rows));
  const collection = points.addCollection('docs', 2);
  const put = (
    name: string,
    changes: { readonly tag?: string; readonly scope?: string; readonly expiresAt?: number } = {},
  ) => {
    const { tag = 'client', scope = 'one', expiresAt = 100 } = changes;
    const point = pointOf(Float32Array.of(1, 0), { id: name, name });
    return points.put(collection.id, point, { scope, tag, expiresAt });
  };
  return {
    file,
    database,
    points,
    collection,
    put,
    damaged,
    numbers: (scope = 'one') =>
      points.read(collection, scope, 0)?.vectors.map(({ number }) => number) ?? [],
    async [Symbol.asyncDispose]() {
      if (database.isOpen) database.close();
      await folder.remove();
    },
  };
}

describe('points in a file', () => {
  test('have numbers in their order, and are found by them', async () => {
    await using scene = await openPoints();
    assert.equal(scene.points.lastNumber(), 0);
    assert.deepEqual(scene.put('a'), { number: 1, removed: [] });
    assert.equal(scene.put('b').number, 2);
    assert.equal(scene.points.find(2)?.payload['name'], 'b');
    assert.equal(scene.points.find(3), undefined);
    assert.deepEqual(scene.points.collection('docs'), scene.collection);
    assert.equal(scene.points.collection('other'), undefined);
  });

  test.skipIf(process.platform === 'win32')(
    'are readable for their user only, and so is the log of SQLite',
    async () => {
      await using scene = await openPoints();
      scene.put('a');
      for (const file of [scene.file, `${scene.file}-wal`])
        assert.equal((await stat(file)).mode & 0o777, 0o600, file);
    },
  );

  test('that are put again have a new number, and none is used twice', async () => {
    await using scene = await openPoints();
    scene.put('a');
    const removed = [{ number: 1, collection: scene.collection.id, scope: 'one' }];
    assert.deepEqual(scene.put('a', { scope: 'two' }), { number: 2, removed });
    scene.points.removeTag(undefined, 2, 1);
    assert.equal(scene.put('a').number, 3);
    assert.equal(scene.points.lastNumber(), 3);
  });

  test('are read from a number on, and undefined if none follow', async () => {
    await using scene = await openPoints();
    for (const name of ['a', 'b', 'c']) scene.put(name);
    const chunk = scene.points.read(scene.collection, 'one', 1);
    assert.deepEqual([chunk?.vectors.map(({ number }) => number), chunk?.upTo], [[2, 3], 3]);
    assert.equal(scene.points.read(scene.collection, 'one', 3), undefined);
    assert.equal(scene.points.read(scene.collection, 'two', 0), undefined);
  });

  test('of many dimensions are read one at a time', async () => {
    await using scene = await openPoints();
    const large = scene.points.addCollection('large', 50_000);
    const vector = new Float32Array(50_000).fill(1);
    for (const id of ['a', 'b'])
      scene.points.put(large.id, pointOf(vector, { id }), { scope: 'one', tag: 't', expiresAt: 9 });
    assert.equal(scene.points.read(large, 'one', 0)?.vectors.length, 1);
  });

  test('that do not fit into the file leave the one with the same id', async () => {
    await using scene = await openPoints();
    scene.put('a');
    scene.database.exec(
      "CREATE TRIGGER refuse BEFORE INSERT ON points BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
    assert.throws(() => scene.put('a'), /no room/);
    assert.equal(scene.database.isTransaction, false);
    assert.deepEqual(scene.numbers(), [1]);
  });
});

describe('a damaged row', () => {
  const damages: readonly (readonly [string, string, boolean])[] = [
    ['vector', "UPDATE points SET vector = x'0000000000000000' WHERE number = 1", true],
    ['length of a vector', "UPDATE points SET vector = x'00' WHERE number = 1", true],
    ['checksum', 'UPDATE points SET vector_sum = 1 WHERE number = 1', true],
    ['payload', "UPDATE points SET payload = '{}' WHERE number = 1", false],
  ];

  test.each(damages)('in its %s is removed, and reported', async (_what, sql, isInVector) => {
    await using scene = await openPoints();
    for (const name of ['a', 'b']) scene.put(name);
    scene.database.exec(sql);
    if (isInVector) assert.deepEqual(scene.numbers(), [2]);
    else assert.equal(scene.points.find(1), undefined);
    assert.deepEqual(scene.damaged, [1]);
    assert.deepEqual(scene.numbers(), [2]);
    assert.deepEqual(scene.damaged, [1]);
  });

  test('at the end of a scope does not cause it to be read again', async () => {
    await using scene = await openPoints();
    for (const name of ['a', 'b']) scene.put(name);
    scene.database.exec("UPDATE points SET vector = x'00'");
    assert.deepEqual(scene.points.read(scene.collection, 'one', 0), { vectors: [], upTo: 2 });
    assert.deepEqual(scene.damaged, [2]);
  });
});

describe('a removal', () => {
  test('of expired points takes the oldest expiry first, up to its limit', async () => {
    await using scene = await openPoints();
    for (const [name, expiresAt] of Object.entries({ a: 30, b: 10, c: 20, d: 40 }))
      scene.put(name, { expiresAt });
    const numbersOf = (removed: readonly { readonly number: number }[]) =>
      removed.map(({ number }) => number).toSorted((a, b) => a - b);
    assert.deepEqual(numbersOf(scene.points.removeExpired(30, 2)), [2, 3]);
    assert.deepEqual(numbersOf(scene.points.removeExpired(30, 2)), [1]);
    assert.equal(scene.points.countLive(39), 1);
    assert.equal(scene.points.countLive(40), 0);
  });

  test('of points above the maximum of a scope takes the oldest ones', async () => {
    await using scene = await openPoints();
    for (const name of ['a', 'b', 'c', 'd']) scene.put(name);
    scene.put('e', { scope: 'two' });
    const { id } = scene.collection;
    assert.deepEqual(scene.points.removeExcess(id, 'one', 4, 10), []);
    assert.equal(scene.points.removeExcess(id, 'one', 1, 2).length, 2);
    assert.deepEqual(scene.numbers(), [3, 4]);
    assert.equal(scene.points.removeExcess(id, 'one', 1, 2).length, 1);
    assert.deepEqual([scene.numbers(), scene.numbers('two')], [[4], [5]]);
  });

  test('of a tag, or of all, stops at a number and at its limit', async () => {
    await using scene = await openPoints();
    for (const [name, tag] of Object.entries({ a: 'x', b: 'y', c: 'x', d: 'x' }))
      scene.put(name, { tag });
    assert.equal(scene.points.removeTag('x', 3, 1).length, 1);
    assert.equal(scene.points.removeTag('x', 3, 9).length, 1);
    assert.deepEqual(scene.numbers(), [2, 4]);
    assert.equal(scene.points.removeTag(undefined, 3, 9).length, 1);
    assert.deepEqual(scene.numbers(), [4]);
  });
});

describe('the errors of SQLite', () => {
  const failing = (errcode: unknown) => Object.assign(new Error('it'), { errcode });

  test.for([
    [11, true, false],
    [11 + 256, true, false],
    [26, true, false],
    [13, false, true],
    [10 + 3_072, false, false],
    ['11', false, false],
  ] as const)('with the code %s: damage %s, full %s', ([code, damage, full]) => {
    assert.deepEqual([isDamage(failing(code)), isFull(failing(code))], [damage, full]);
  });

  test('are distinguished from other errors', () => {
    for (const other of [new Error('it'), { errcode: 11 }, undefined])
      assert.deepEqual([isDamage(other), isFull(other)], [false, false]);
  });
});

test('of the files that are set aside the latest three stay, without their logs', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-points-'));
  const { log, logged } = createRecordingLog();
  const clock = createManualClock();
  const file = join(folder.path, 'vectors.db');
  for (let run = 0; run < 5; run++) {
    for (const suffix of ['', '-wal', '-shm']) await writeFile(`${file}${suffix}`, 'no database');
    setAside(file, new Error('damaged'), { clock, log });
    clock.advance(1_000);
  }
  const kept = await readdir(folder.path);
  assert.deepEqual(
    kept.toSorted(),
    [42, 43, 44].map(second => `vectors.db.corrupt-2025-06-15T15-06-${second}.000Z`),
  );
  assert.deepEqual(logged.at(-1)?.fields, {
    file,
    aside: 'vectors.db.corrupt-2025-06-15T15-06-44.000Z',
    error: 'damaged',
  });
});

test('a file that is not a database is set aside, and another error is thrown', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-points-'));
  const { log, logged } = createRecordingLog();
  const needs = { clock: createManualClock(), log };
  const file = join(folder.path, 'vectors.db');
  await writeFile(file, 'no database '.repeat(100));
  using database = openDatabase(file, needs);
  assert.equal(createPoints(database, () => {}).lastNumber(), 0);
  assert.equal(logged.length, 1);
  assert.throws(() => openDatabase(folder.path, needs), /unable to open/);
  assert.equal(logged.length, 1);
});
