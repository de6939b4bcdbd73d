import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { createRecordingLog } from '#helpers/recording-log';
import { createBacklog, createFolder } from '#store';

async function openFolder() {
  const place = await mkdtempDisposable(join(tmpdir(), 'agenthub-folder-'));
  const path = join(place.path, 'texts');
  const { log, logged } = createRecordingLog();
  const backlog = createBacklog();
  return {
    path,
    logged,
    backlog,
    texts: createFolder(path, { log, backlog }),
    [Symbol.asyncDispose]: () => place.remove(),
  };
}

describe('a text', () => {
  test('is found by the next run, in a folder that only the user of the hub can read', async () => {
    await using scene = await openFolder();
    const { path, texts, logged } = scene;
    assert.equal(await texts.read('a'), undefined);
    await texts.write('a', 'one');
    assert.equal(await readFile(join(path, 'a.json'), 'utf8'), 'one');
    assert.equal((await stat(path)).mode & 0o777, 0o700);
    const next = createFolder(path, { log: createRecordingLog().log });
    assert.equal(await next.read('a'), 'one');
    assert.deepEqual(logged, []);
  });

  test('that is removed does not exist, and removing a missing one is no error', async () => {
    await using scene = await openFolder();
    await scene.texts.remove('none');
    await scene.texts.write('a', 'one');
    await scene.texts.remove('a');
    assert.equal(await scene.texts.read('a'), undefined);
    assert.deepEqual(await readdir(scene.path), []);
  });

  test('is the latest of those that were written concurrently, a removal included', async () => {
    await using scene = await openFolder();
    const { texts } = scene;
    await Promise.all([texts.write('a', '1'), texts.write('a', '2'), texts.write('a', '3')]);
    assert.equal(await texts.read('a'), '3');
    await Promise.all([texts.write('a', '4'), texts.remove('a')]);
    assert.equal(await texts.read('a'), undefined);
    await Promise.all([texts.remove('a'), texts.write('a', '5')]);
    assert.equal(await texts.read('a'), '5');
  });
});

test('temporary files of an earlier run are removed on the first use, and no others', async () => {
  await using scene = await openFolder();
  await scene.texts.write('a', 'one');
  const temporary = 'a.json.0123456789ab.new';
  await writeFile(join(scene.path, temporary), 'half');
  const next = createFolder(scene.path, { log: createRecordingLog().log });
  assert.equal(await next.read('a'), 'one');
  assert.deepEqual(await readdir(scene.path), ['a.json']);
});

describe('a text that could not be written', () => {
  test('is written by the backlog once it can be', async () => {
    await using scene = await openFolder();
    const { path, texts, backlog, logged } = scene;
    await writeFile(path, 'in the way');
    await texts.write('a', 'one');
    assert.deepEqual(
      (await backlog.retry()).map(({ file }) => file),
      [join(path, 'a.json')],
    );
    await rm(path);
    assert.deepEqual(await backlog.retry(), []);
    assert.equal(await texts.read('a'), 'one');
    assert.deepEqual(
      logged.map(({ level }) => level),
      ['warn', 'info'],
    );
  });

  test('does not replace a later one', async () => {
    await using scene = await openFolder();
    const { path, texts, backlog } = scene;
    await writeFile(path, 'in the way');
    await texts.write('a', 'one');
    await rm(path);
    const writing = texts.write('a', 'two');
    await Promise.all([writing, backlog.retry()]);
    assert.equal(await texts.read('a'), 'two');
  });

  test('is deleted if its removal failed', async () => {
    await using scene = await openFolder();
    const { path, texts, backlog } = scene;
    await mkdir(join(path, 'a.json'), { recursive: true });
    await texts.remove('a');
    assert.equal((await backlog.retry()).length, 1);
    await rm(join(path, 'a.json'), { recursive: true });
    assert.deepEqual(await backlog.retry(), []);
  });
});
