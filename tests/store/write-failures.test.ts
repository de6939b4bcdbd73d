import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { createRecordingLog } from '#helpers/hub';
import { createBacklog, createFolder, createTable } from '#store';

const folderOf = () => mkdtempDisposable(join(tmpdir(), 'write-failures-'));
const said = [
  ['warn', 'a file of the hub could not be written'],
  ['info', 'files of the hub are written again'],
];

test('a table that cannot be written logs it once, and writes everything when it can', async () => {
  await using folder = await folderOf();
  const { log, logged } = createRecordingLog();
  const inside = join(folder.path, 'absent');
  const file = join(inside, 'table.json');
  const table = createTable({ file, maxEntries: 10 }, { log });
  for (const key of ['a', 'b', 'c']) await table.put(key, key);
  await table.remove('b');
  await mkdir(inside);
  await table.put('a', 'a');
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { a: 'a', c: 'c' });
  assert.deepEqual(
    logged.map(({ level, message }) => [level, message]),
    said,
  );
});

test('a folder logs once that nothing can be written in it, and once that all of it was', async () => {
  await using folder = await folderOf();
  const { log, logged } = createRecordingLog();
  const path = join(folder.path, 'texts');
  await writeFile(path, 'in the way');
  const texts = createFolder(path, { log });
  await texts.write('a', '1');
  await texts.write('b', '2');
  await texts.write('a', '3');
  await rm(path);
  await texts.write('b', '4');
  assert.equal(logged.length, 1, 'the other one is not written yet');
  await texts.write('a', '5');
  assert.deepEqual([await texts.read('a'), await texts.read('b')], ['5', '4']);
  assert.deepEqual(
    logged.map(({ level, message }) => [level, message]),
    said,
  );
});

test('a failed write is reported with its reason, and done at the next successful attempt', async () => {
  await using folder = await folderOf();
  const { log } = createRecordingLog();
  const backlog = createBacklog();
  const inside = join(folder.path, 'absent');
  const file = join(inside, 'table.json');
  const texts = join(folder.path, 'texts');
  await writeFile(texts, 'in the way');
  const table = createTable({ file, maxEntries: 10 }, { log, backlog });
  const kept = createFolder(texts, { log, backlog });
  assert.deepEqual(await backlog.retry(), []);
  await Promise.all([table.put('a', '1'), kept.write('b', 'old')]);
  await kept.write('b', 'new');
  const found = await backlog.retry();
  assert.deepEqual(found.map(one => one.file).toSorted(), [file, join(texts, 'b.json')]);
  for (const { reason } of found) assert.match(reason, /^E[A-Z]+: /);
  await mkdir(inside);
  assert.deepEqual(
    (await backlog.retry()).map(one => one.file),
    [join(texts, 'b.json')],
  );
  await rm(texts);
  assert.deepEqual(await backlog.retry(), []);
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { a: '1' });
  assert.equal(await kept.read('b'), 'new');
});

test('a text that was written meanwhile is not replaced by one whose write had failed', async () => {
  await using folder = await folderOf();
  const { log } = createRecordingLog();
  const backlog = createBacklog();
  const path = join(folder.path, 'texts');
  const slow = Promise.withResolvers<void>();
  backlog.add({ file: 'slow', reason: 'full' }, () => slow.promise);
  await writeFile(path, 'in the way');
  const texts = createFolder(path, { log, backlog });
  await texts.write('a', 'old');
  await rm(path);
  const retrying = backlog.retry();
  await texts.write('a', 'new');
  slow.resolve();
  await retrying;
  assert.equal(await texts.read('a'), 'new');
});
