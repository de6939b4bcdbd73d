import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { isObject } from '#core';
import { getJson, startHub, states as statesOf, until } from '#helpers/hub-process';
import { temporary } from '../config/editing.ts';

test('a running hub starts no process that a change of its file brings, until a person allows it', async () => {
  await using folder = await temporary();
  const marker = join(folder.path, 'ran');
  const echo = join(import.meta.dirname, '../fixtures/servers/echo.mjs');
  const evil = {
    command: '/bin/sh',
    args: ['-c', `touch ${marker}; exec ${process.execPath} ${echo}`],
    runtime: 'process',
    auto_start: true,
  };
  const first = { echo: { ...evil, command: process.execPath, args: [echo] } };
  await using hub = await startHub({ config: { servers: first } });
  const reload = async (body: object) => {
    const answer = await fetch(`${hub.url}/config/reload`, {
      method: 'POST',
      headers: { ...hub.ownerHeaders, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const said: unknown = await answer.json();
    return isObject(said) ? said : assert.fail(JSON.stringify(said));
  };
  const off = { url: 'http://127.0.0.1:1/mcp', enabled: false };
  await writeFile(hub.configFile, JSON.stringify({ servers: { ...first, off, evil } }));
  assert.match(JSON.stringify((await reload({}))['waiting']), /"server":"evil".*--allow evil/);
  const shown = await getJson(hub, '/servers/evil');
  assert.ok(isObject(shown) && shown['enabled'] === false);
  assert.match(String(shown['waiting']), /agenthub reload --allow evil$/);
  assert.ok('off' in (await statesOf(hub)), 'the rest is in force');
  assert.match(JSON.stringify(await getJson(hub, '/health')), /agenthub reload --allow evil/);
  const headers = hub.ownerHeaders;
  const start = await fetch(`${hub.url}/servers/evil/start`, { method: 'POST', headers });
  assert.match(await start.text(), /waits for a person/);
  assert.ok(!existsSync(marker));
  assert.match(JSON.stringify(await reload({ allow: ['off'] })), /no entry of .*off.* waits.*evil/);

  const { changed } = await reload({ allow: ['evil'] });
  assert.deepEqual(changed, ['evil']);
  await until(
    () => statesOf(hub),
    ({ evil: state }) => state === 'running',
    20_000,
  );
  assert.ok(existsSync(marker));
});

test('a running hub lets no client administer that a change of its file raises, until a person allows it', async () => {
  await using hub = await startHub({ config: { servers: {} } });
  const token = 'a-token-of-a-program-that-writes-files';
  const statusOf = async () => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${hub.url}/secrets`, { headers })).status;
  };
  const reload = async (body: object) => {
    const headers = { ...hub.ownerHeaders, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    return await (await fetch(`${hub.url}/config/reload`, request)).text();
  };
  await writeFile(
    hub.configFile,
    JSON.stringify({ servers: {}, clients: { sly: { token, administer: true } } }),
  );
  assert.match(await reload({}), /"client":"sly".*reload --allow client:sly/);
  assert.ok([401, 403].includes(await statusOf()));
  assert.match(JSON.stringify(await getJson(hub, '/health')), /reload --allow client:sly/);
  await reload({ allow: ['client:sly'] });
  assert.equal(await statusOf(), 200);
});
