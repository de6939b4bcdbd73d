import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { createReserve, reserveBytes } from '../../hub/audit/reserve.ts';

const noRoom = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

async function tempFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-reserve-'));
  return {
    folder,
    path: join(folder, 'reserve'),
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true, force: true }),
  };
}

test('disk space is reserved until the disk is full, and again afterwards', async () => {
  await using temp = await tempFolder();
  const reserve = createReserve(temp.path);
  await reserve.keep(true);
  assert.equal((await stat(temp.path)).size, reserveBytes);
  assert.equal(await reserve.releaseAfter(new Error('another error')), false);
  assert.equal(await reserve.releaseAfter(noRoom), true);
  assert.deepEqual([reserve.isHeld, await readdir(temp.folder)], [false, []]);
  assert.equal(await reserve.releaseAfter(noRoom), false);
  await reserve.keep(true);
  assert.equal(reserve.isHeld, true);
  await reserve.keep(false);
  assert.deepEqual([reserve.isHeld, await readdir(temp.folder)], [false, []]);
});

test('a reserve file of an earlier run is used only if it is complete', async () => {
  await using temp = await tempFolder();
  for (const bytes of [reserveBytes - 1, reserveBytes]) {
    await writeFile(temp.path, Buffer.alloc(bytes, 'x'));
    const { ino, mtimeMs } = await stat(temp.path);
    await createReserve(temp.path).keep(true);
    const now = await stat(temp.path);
    assert.equal(now.size, reserveBytes);
    assert.equal(now.ino === ino && now.mtimeMs === mtimeMs, bytes === reserveBytes);
  }
});

test('without disk space the file is not created, and nothing is reserved', async () => {
  await using temp = await tempFolder();
  const reserve = createReserve(join(temp.folder, 'missing', 'reserve'));
  await assert.rejects(reserve.keep(true), { code: 'ENOENT' });
  assert.equal(reserve.isHeld, false);
});
