import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { readPrivate } from '#store';

test('a private file is read up to its limit, made private, and is neither a link nor a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-private-'));
  const file = join(folder, 'file');
  const options = { maxBytes: 8, remedy: 'Delete it' };
  assert.equal(await readPrivate(file, options), undefined);
  await writeFile(file, '');
  assert.equal(await readPrivate(file, options), '');
  await writeFile(file, '12345678');
  await chmod(file, 0o666);
  assert.equal(await readPrivate(file, options), '12345678');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await writeFile(file, '1234567890');
  assert.ok((await readPrivate(file, options))?.startsWith('12345678'));
  await symlink('file', join(folder, 'link'));
  await assert.rejects(readPrivate(join(folder, 'link'), options), /symbolic link\. Delete it/);
  await mkdir(join(folder, 'inside'));
  await assert.rejects(readPrivate(join(folder, 'inside'), options), /not a regular file/);
  await rm(folder, { recursive: true });
});
