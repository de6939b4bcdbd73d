import assert from 'node:assert/strict';
import { mkdir, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { isObject } from '#core';
import { getJson, settled, startHub } from '#helpers/hub-process';

const echo = join(import.meta.dirname, '../fixtures/servers/echo.mjs');
const entry = { command: process.execPath, args: [echo], runtime: 'process', auto_start: true };

test('a hub with --tags installs no server that it would not run, and removes any of its file', async () => {
  const servers = {
    mine: { ...entry, tags: ['work', 'notes'] },
    other: { ...entry, tags: ['private'] },
  };
  await using hub = await startHub({ config: { servers }, args: ['--tags', 'work,notes'] });
  assert.deepEqual(await settled(hub, 60_000), { mine: 'running' }, hub.log());
  const before = await readFile(hub.configFile, 'utf8');

  const answer = await fetch(`${hub.url}/servers/install`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...hub.ownerHeaders,
    },
    body: JSON.stringify({ package: 'npm:echo@1.0.0', tags: ['private'] }),
  });
  assert.equal(answer.status, 400);
  const told = await answer.text();
  assert.match(
    told,
    /HUB_REQUEST_INVALID.*only servers with --tags work, ?notes,.*Add one of them to its \\"tags\\"/s,
  );
  assert.match(told, /"step":"validate"/);
  assert.equal(await readFile(hub.configFile, 'utf8'), before);

  const folders = join(hub.dataDir, 'servers');
  await mkdir(join(folders, 'other'), { recursive: true });
  for (const [name, removed] of [
    ['other', ['entry', 'folder']],
    ['mine', ['entry', 'instance', 'folder']],
  ] as const) {
    const gone = await fetch(`${hub.url}/servers/${name}?purge`, {
      method: 'DELETE',
      headers: hub.ownerHeaders,
    });
    const body: unknown = await gone.json();
    assert.ok(isObject(body) && Array.isArray(body['removed']), JSON.stringify(body));
    assert.deepEqual(
      body['removed'].map(one => isObject(one) && one['kind']),
      removed,
    );
    assert.deepEqual(body['left'], []);
  }
  assert.deepEqual(await readdir(folders), []);
  const left = await getJson(hub, '/servers');
  assert.ok(isObject(left));
  assert.deepEqual(left['servers'], [], 'the last one with the tag too');
  assert.deepEqual(JSON.parse(await readFile(hub.configFile, 'utf8')), { servers: {} });
});
