import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { announceRunning, findRunning, openDataDir } from '#store';

async function temporary() {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-running-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const newId = () => 'abcdef0123456789';
const hub = { url: 'http://localhost:9090', sockets: ['127.0.0.1:9090'] };

describe('the hub that runs with a data folder', () => {
  test('is found while it holds the folder, and not before it listens or after it ended', async () => {
    await using folder = await temporary();
    assert.equal(await findRunning(folder.path), undefined);
    {
      await using _ = await openDataDir(folder.path, newId);
      assert.equal(await findRunning(folder.path), undefined);
      await announceRunning(folder.path, hub);
      assert.deepEqual(await findRunning(folder.path), hub);
    }
    assert.equal(await findRunning(folder.path), undefined);
  });

  test('is not found by what a killed hub has left: another program may have its port', async () => {
    await using folder = await temporary();
    await (await openDataDir(folder.path, newId))[Symbol.asyncDispose]();
    // The process belongs to this user, but the folder is not locked.
    await announceRunning(folder.path, hub);
    assert.equal(await findRunning(folder.path), undefined);
    // A hub holds the lock but does not listen yet.
    await using _ = await openDataDir(folder.path, newId);
    assert.equal(await findRunning(folder.path), undefined);
    // The process named in the file has ended.
    await announceRunning(folder.path, hub);
    const file = join(folder.path, 'hub-running.json');
    const { pid } = spawnSync(process.execPath, ['--version']);
    await writeFile(file, (await readFile(file, 'utf8')).replace(String(process.pid), String(pid)));
    assert.equal(await findRunning(folder.path), undefined);
  });

  test.for(['', 'null', '[]', '{"pid":1}', '{"url":"x","sockets":[],"pid":-1}', '{"url":1'])(
    'is not found where the file holds %s',
    async text => {
      await using folder = await temporary();
      await using _ = await openDataDir(folder.path, newId);
      await writeFile(join(folder.path, 'hub-running.json'), text);
      assert.equal(await findRunning(folder.path), undefined);
    },
  );

  test('has a key of its owner, which stays the same over restarts', async () => {
    await using folder = await temporary();
    const open = async () => {
      await using data = await openDataDir(folder.path, newId);
      return data.ownerKey;
    };
    const key = await open();
    assert.match(key, /^[\w-]{43}$/);
    assert.equal(await open(), key);
    assert.equal((await readFile(join(folder.path, 'owner-key'), 'utf8')).trim(), key);
  });
});
