import assert from 'node:assert/strict';
import { cp, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { announceRunning, findKnownHubs, findRunningCopy, noteHub, openDataDir } from '#store';
import { temporary } from '../config/editing.ts';

const id = 'abcdef0123456789';
const running = { url: 'http://localhost:9393', sockets: ['127.0.0.1:9393'] };

/** Creates the note of one hub, and its data folder. */
async function noted() {
  const folder = await temporary();
  const state = join(folder.path, 'state', 'hubs');
  const hub = {
    dataDir: join(folder.path, 'data'),
    configFile: '/c/mcp-servers.json',
    rulesFile: '/c/rules.json',
    dotenvFile: '/c/.env',
  };
  await mkdir(hub.dataDir);
  await noteHub(state, hub);
  return { state, hub, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

test('a hub is known with its files while it runs and afterwards', async () => {
  await using at = await noted();
  assert.deepEqual(await findKnownHubs(at.state), [
    { ...at.hub, hubId: undefined, isRunning: false, running: undefined },
  ]);
  const data = await openDataDir(at.hub.dataDir, () => id);
  const find = async () => {
    const [hub, ...others] = await findKnownHubs(at.state);
    assert.deepEqual(others, []);
    return [hub?.hubId, hub?.isRunning, hub?.running];
  };
  assert.deepEqual(await find(), [id, true, undefined], 'it does not listen yet');
  await announceRunning(at.hub.dataDir, running);
  assert.deepEqual(await find(), [id, true, running]);
  await data[Symbol.asyncDispose]();
  // A killed hub leaves this announcement.
  await announceRunning(at.hub.dataDir, running);
  assert.deepEqual(await find(), [id, false, undefined]);
});

test('notes are private, one per data folder', async () => {
  await using at = await noted();
  await noteHub(at.state, { ...at.hub, configFile: '/other.json' });
  await noteHub(at.state, { ...at.hub, dataDir: join(at.state, '..') });
  const names = await readdir(at.state);
  assert.equal(names.length, 2);
  assert.equal((await stat(at.state)).mode & 0o777, 0o700);
  for (const name of names) assert.equal((await stat(join(at.state, name))).mode & 0o777, 0o600);
  const known = (await findKnownHubs(at.state)).find(({ dataDir }) => dataDir === at.hub.dataDir);
  assert.equal(known?.configFile, '/other.json');
});

test('the note of a data folder that no longer exists is removed', async () => {
  await using at = await noted();
  await rm(at.hub.dataDir, { recursive: true });
  assert.deepEqual(await findKnownHubs(at.state), []);
  assert.deepEqual(await readdir(at.state), []);
});

test('an invalid note is ignored, and a missing folder has no hubs', async () => {
  await using at = await noted();
  for (const [name, text] of [
    ['a.json', '{'],
    ['b.json', '{"dataDir": 1}'],
    ['c.txt', JSON.stringify(at.hub)],
  ] as const)
    await writeFile(join(at.state, name), text);
  assert.equal((await findKnownHubs(at.state)).length, 1);
  assert.deepEqual(await findKnownHubs(join(at.state, 'none')), []);
});

test('a copy of the data folder is found while a hub runs with it, and the folder itself is no copy', async () => {
  await using at = await noted();
  const { dataDir } = at.hub;
  const copy = `${dataDir}-copy`;
  const link = `${dataDir}-link`;
  const data = await openDataDir(dataDir, () => id);
  await cp(dataDir, copy, { recursive: true });
  await symlink(dataDir, link);
  for (const other of [copy, link]) await noteHub(at.state, { ...at.hub, dataDir: other });
  const find = async (path: string, hubId = id) =>
    await findRunningCopy(at.state, { dataDir: path, hubId });
  assert.equal(await find(dataDir), undefined, 'no hub runs with the copy');
  assert.equal(await find(link), undefined);
  assert.ok([dataDir, link].includes((await find(copy)) ?? ''));
  assert.equal(await find(copy, '0123456789abcdef'), undefined, 'a hub of its own');
  await data[Symbol.asyncDispose]();
  assert.equal(await find(copy), undefined);
});
