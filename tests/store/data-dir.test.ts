import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { openDataDir, writeWhole } from '#store';

/** A folder of its own, gone when disposed. */
async function temporary() {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-data-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const newId = () => 'abcdef0123456789';

describe('the data folder', () => {
  test('is made where it is absent, for its owner only, and keeps the id of the hub', async () => {
    await using folder = await temporary();
    const path = join(folder.path, 'deep', 'data');
    {
      await using data = await openDataDir(path, newId);
      assert.equal(data.hubId, newId());
      assert.equal((await stat(path)).mode & 0o777, 0o700);
    }
    await using again = await openDataDir(path, () => 'another0another0');
    assert.equal(again.hubId, newId());
  });

  test('is held by one hub at a time, and free once that is disposed', async () => {
    await using folder = await temporary();
    const first = await openDataDir(folder.path, newId);
    await assert.rejects(openDataDir(folder.path, newId), {
      code: 'HUB_DATA_LOCKED',
      message: /another hub runs with .*DATA_DIR and ROUTER_PORT of its own/,
    });
    await first[Symbol.asyncDispose]();
    await using _ = await openDataDir(folder.path, newId);
  });

  test('is free again when the process that held it was killed', async () => {
    await using folder = await temporary();
    const program = join(folder.path, 'hold.mjs');
    await writeFile(
      program,
      `import { DatabaseSync } from 'node:sqlite';
       const lock = new DatabaseSync(process.argv[2]);
       lock.exec('BEGIN EXCLUSIVE');
       process.send('held');
       setInterval(() => {}, 1000);`,
    );
    const holder = fork(program, [join(folder.path, 'hub.lock')]);
    await once(holder, 'message');
    await assert.rejects(openDataDir(folder.path, newId), { code: 'HUB_DATA_LOCKED' });
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await using _ = await openDataDir(folder.path, newId);
  });

  test('that cannot be used is named with the reason, and is not taken for one that is held', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    await assert.rejects(openDataDir(file, newId), {
      code: 'HUB_CONFIG_INVALID',
      message: /^DATA_DIR: ".*file" cannot be used/,
    });
    const strange = join(folder.path, 'strange');
    await mkdir(strange);
    await writeFile(join(strange, 'hub.lock'), 'this is no database, and never was one'.repeat(50));
    await assert.rejects(openDataDir(strange, newId), {
      code: 'HUB_CONFIG_INVALID',
      message: /not a database/,
    });
  });

  test('writes a file whole, and leaves nothing beside it', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'note');
    await writeWhole(file, 'one');
    await writeWhole(file, 'two');
    assert.equal(await readFile(file, 'utf8'), 'two');
    assert.deepEqual(await readdir(folder.path), ['note']);
    await assert.rejects(writeWhole(join(folder.path, 'absent', 'note'), 'x'));
  });
});
