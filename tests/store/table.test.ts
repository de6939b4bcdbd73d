import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { test } from 'vitest';
import { silent } from '#core';
import { createRecordingLog } from '#helpers/hub';
import { createTable } from '#store';

const folderOf = () => mkdtempDisposable(join(tmpdir(), 'table-'));

test('entries are found by the next run, and removed ones are not', async () => {
  await using folder = await folderOf();
  const options = { file: join(folder.path, 'table.json'), maxEntries: 10 };
  const first = createTable(options, { log: silent });
  await Promise.all([first.put('a', '1'), first.put('b', '2'), first.put('c', '3')]);
  await first.remove('b');
  const second = createTable(options, { log: silent });
  assert.deepEqual(
    [await second.find('a'), await second.find('b'), await second.find('c')],
    ['1', undefined, '3'],
  );
});

test('above the maximum of entries the oldest is removed', async () => {
  await using folder = await folderOf();
  const file = join(folder.path, 'table.json');
  const table = createTable({ file, maxEntries: 2 }, { log: silent });
  for (const key of ['a', 'b', 'c']) await table.put(key, key);
  await table.put('b', 'new');
  await table.put('d', 'd');
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { b: 'new', d: 'd' });
});

test('an invalid file is replaced, with a warning', async () => {
  await using folder = await folderOf();
  const file = join(folder.path, 'table.json');
  for (const content of ['{', '[]', 'null']) {
    await writeFile(file, content);
    const { log, logged } = createRecordingLog();
    const table = createTable({ file, maxEntries: 2 }, { log });
    assert.equal(await table.find('a'), undefined);
    assert.equal(logged[0]?.level, 'warn');
    await table.put('a', 'b');
    assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { a: 'b' });
  }
});

test('if nothing can be written, entries are kept in memory while the hub runs', async () => {
  await using folder = await folderOf();
  const { log, logged } = createRecordingLog();
  const options = { file: join(folder.path, 'absent', 'table.json'), maxEntries: 2 };
  const table = createTable(options, { log });
  assert.equal(await table.put('a', 'b'), false);
  assert.equal(await table.put('a', 'b'), false, 'it is tried again');
  assert.equal(await table.find('a'), 'b');
  await mkdir(join(folder.path, 'absent'));
  assert.equal(await table.put('a', 'b'), true);
  assert.equal(await table.put('a', 'b'), true);
  assert.match(logged[0]?.message ?? '', /could not be written/);
  const inMemory = createTable({ file: undefined, maxEntries: 2 }, { log: silent });
  await inMemory.put('a', 'b');
  assert.equal(await inMemory.find('a'), 'b');
});
