import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { readKey, readOrMakeKey } from '#store';

async function temporary() {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-key-'));
  return {
    path,
    file: join(path, 'key'),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

const key = 'k'.repeat(43);

describe('a key file', () => {
  test('is created once, for its owner only, with 32 random bytes', async () => {
    await using folder = await temporary();
    assert.equal(await readKey(folder.file), undefined);
    const made = await readOrMakeKey(folder.file);
    assert.equal(Buffer.from(made, 'base64url').length, 32);
    assert.equal((await stat(folder.file)).mode & 0o777, 0o600);
    assert.equal(await readOrMakeKey(folder.file), made);
    assert.equal(await readFile(folder.file, 'utf8'), `${made}\n`);
    assert.deepEqual(await readdir(folder.path), ['key']);
  });

  test('has the key that all concurrent starts read', async () => {
    await using folder = await temporary();
    const keys = await Promise.all(Array.from({ length: 20 }, () => readOrMakeKey(folder.file)));
    assert.equal(new Set(keys).size, 1);
    assert.deepEqual(await readdir(folder.path), ['key']);
  });

  test('that others could read is made private', async () => {
    await using folder = await temporary();
    await writeFile(folder.file, `${key}\n`);
    await chmod(folder.file, 0o644);
    assert.equal(await readKey(folder.file), key);
    assert.equal((await stat(folder.file)).mode & 0o777, 0o600);
  });

  test.runIf(process.getuid?.() === 0)('of another user is refused', async () => {
    await using folder = await temporary();
    await writeFile(folder.file, key, { mode: 0o600 });
    await chown(folder.file, 65_534, 65_534);
    await assert.rejects(readOrMakeKey(folder.file), /belongs to user 65534/);
  });

  test.for([
    ['nothing', ''],
    ['half a key', key.slice(20)],
    ['more than a key', `${key}${key}`],
    ['something else', 'not a key at all, and as long as one or so!\n'],
  ])('with %s is refused, and unchanged', async ([, text]) => {
    await using folder = await temporary();
    await writeFile(folder.file, text ?? '', { mode: 0o600 });
    await assert.rejects(readOrMakeKey(folder.file), /does not hold a key\. Delete it and restart/);
    assert.equal(await readFile(folder.file, 'utf8'), text);
  });

  test('is refused if it is a link, a folder or a pipe', async () => {
    await using folder = await temporary();
    await writeFile(join(folder.path, 'other'), key, { mode: 0o600 });
    await symlink('other', folder.file);
    await assert.rejects(readOrMakeKey(folder.file), /is a symbolic link/);
    await assert.rejects(readOrMakeKey(folder.path), /is not a regular file/);
    const pipe = join(folder.path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await assert.rejects(readOrMakeKey(pipe), /is not a regular file/);
  });
});
