import assert from 'node:assert/strict';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { silent } from '#core';
import { createFolder, openDataDir, writeWhole } from '#store';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agenthub-write-'));
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

describe('a file that is written completely', () => {
  test('is for its owner only if it is new, and otherwise keeps its mode', async () => {
    const file = join(folder, 'note');
    await writeWhole(file, 'one');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    await chmod(file, 0o644);
    await writeWhole(file, 'two');
    assert.equal((await stat(file)).mode & 0o777, 0o644);
  });

  test('is the target of a link, whether that exists or not', async () => {
    await mkdir(join(folder, 'real'));
    for (const [target, link] of [
      ['real/here', 'a'],
      ['a', 'b'],
      ['real/absent', 'c'],
    ] as const)
      await symlink(target, join(folder, link));
    await writeFile(join(folder, 'real/here'), 'old');
    await writeWhole(join(folder, 'b'), 'through two');
    await writeWhole(join(folder, 'c'), 'new');
    assert.equal(await readFile(join(folder, 'real/here'), 'utf8'), 'through two');
    assert.equal(await readFile(join(folder, 'real/absent'), 'utf8'), 'new');
    assert.equal(await readlink(join(folder, 'c')), 'real/absent');
    assert.deepEqual((await readdir(join(folder, 'real'))).sort(), ['absent', 'here']);
  });

  test('has one of the texts of concurrent writers', async () => {
    const file = join(folder, 'note');
    const texts = Array.from({ length: 50 }, (_, index) => `${index} `.repeat(10_000));
    await Promise.all(texts.map(async text => await writeWhole(file, text)));
    assert.ok(texts.includes(await readFile(file, 'utf8')));
    assert.deepEqual(await readdir(folder), ['note']);
  });

  test('loses no edit of concurrent writers that check the text before', async () => {
    const file = join(folder, 'note');
    await writeFile(file, '');
    const addOne = async (): Promise<void> => {
      const before = await readFile(file, 'utf8');
      const isWritten = await writeWhole(file, `${before}x`, async () => {
        if ((await readFile(file, 'utf8')) !== before) throw new Error('overtaken');
      }).then(
        () => true,
        () => false,
      );
      if (!isWritten) await addOne();
    };
    await Promise.all(Array.from({ length: 20 }, addOne));
    assert.equal(await readFile(file, 'utf8'), 'x'.repeat(20));
    assert.deepEqual(await readdir(folder), ['note']);
  });

  test('is replaced although a writer was killed while it checked', async () => {
    const file = join(folder, 'note');
    await writeFile(`${file}.lock.new`, '');
    await writeWhole(file, 'text', async () => {});
    assert.equal(await readFile(file, 'utf8'), 'text');
    assert.deepEqual(await readdir(folder), ['note']);
  });

  test('is unchanged if the last check throws, with no file beside it', async () => {
    const file = join(folder, 'note');
    await writeWhole(file, 'old');
    const refuse = async () => {
      throw new Error('not now');
    };
    await assert.rejects(writeWhole(file, 'new', refuse), /not now/);
    assert.equal(await readFile(file, 'utf8'), 'old');
    assert.deepEqual(await readdir(folder), ['note']);
  });

  test('leaves no file beside it if it cannot be replaced', async () => {
    const file = join(folder, 'taken');
    await mkdir(file);
    await assert.rejects(writeWhole(file, 'new'), { code: 'EISDIR' });
    assert.deepEqual(await readdir(folder), ['taken']);
  });

  test('has no file beside it of a killed writer, but those of a running one', async () => {
    const file = join(folder, 'note');
    const [left, young, other] = ['note.0123456789ab.new', 'note.ba9876543210.new', 'notes.new'];
    for (const name of [left, young, other]) await writeFile(join(folder, name), 'half');
    const long = Date.now() / 1000 - 3_600;
    for (const name of [left, other]) await utimes(join(folder, name), long, long);
    await writeWhole(file, 'whole');
    assert.deepEqual((await readdir(folder)).sort(), ['note', young, other].sort());
    assert.equal(await readFile(file, 'utf8'), 'whole');
  });
});

test('a file that a killed hub has half written is removed by the next, and never read', async () => {
  const listings = join(folder, 'listings');
  await mkdir(listings);
  const left = (name: string) => `${name}.0123456789ab.new`;
  await writeFile(join(folder, left('hub-secret')), 'half');
  await writeFile(join(listings, left('files.json')), 'half');
  await using opened = await openDataDir(folder, () => 'abcdefgh01234567');
  assert.equal(opened.secret.length, 32);
  const texts = createFolder(listings, { log: silent });
  assert.equal(await texts.read('files'), undefined);
  assert.deepEqual(await readdir(listings), []);
  assert.deepEqual(
    (await readdir(folder)).filter(name => name.endsWith('.new')),
    [],
  );
});

test('a hub that starts while a command writes the secrets does not remove the half-written file', async () => {
  const file = join(folder, 'secrets.json');
  await writeWhole(file, 'whole', async () => {
    await using _ = await openDataDir(folder, () => 'abcdefgh01234567');
  });
  assert.equal(await readFile(file, 'utf8'), 'whole');
});
