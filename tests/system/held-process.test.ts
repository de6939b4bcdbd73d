import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { createProcessGate, loadConfig } from '#config';
import { isObject } from '#core';
import { getJson, startHub, states as statesOf, until } from '#helpers/hub-process';
import { temporary } from '../config/editing.ts';

const at = async (folder: string, servers: object) => {
  const file = join(folder, 'hub.json');
  await writeFile(file, JSON.stringify({ servers }));
  return await loadConfig(file, { env: {}, home: folder });
};

const shell = (...args: readonly string[]) => ({ command: '/bin/sh', args, runtime: 'process' });
const image = { image: 'any:1' };

test('a process that appears while the hub runs waits, and the rest of the reload applies', async () => {
  await using folder = await temporary();
  const gate = createProcessGate(await at(folder.path, { old: shell('a'), boxed: image }));
  const started = { old: shell('a'), boxed: image };
  const states = async (servers: object) =>
    gate
      .hold(await at(folder.path, servers))
      .servers.map(({ name, enabled, heldBack, launch }) => [
        name,
        launch.kind === 'local' && launch.runtime,
        enabled,
        heldBack === undefined ? '' : 'waits',
      ]);

  assert.deepEqual(await states({ ...started, more: image }), [
    ['old', 'process', true, ''],
    ['boxed', 'auto', true, ''],
    ['more', 'auto', true, ''],
  ]);
  assert.deepEqual(
    await states({ ...started, boxed: shell('b'), fresh: shell('c'), more: image }),
    [
      ['old', 'process', true, ''],
      ['boxed', 'auto', true, 'waits'],
      ['fresh', 'process', false, 'waits'],
      ['more', 'auto', true, ''],
    ],
  );
  assert.equal(gate.allow('more'), false);
  assert.equal(gate.allow('fresh'), true);
  assert.deepEqual(await states({ ...started, boxed: shell('b'), fresh: shell('c') }), [
    ['old', 'process', true, ''],
    ['boxed', 'auto', true, 'waits'],
    ['fresh', 'process', true, ''],
  ]);
  // Another command line, or another environment, is another program.
  for (const changed of [shell('d'), { ...shell('c'), env: { NODE_OPTIONS: '--import=/x' } }])
    assert.deepEqual(await states({ fresh: changed }), [['fresh', 'process', true, 'waits']]);
  assert.deepEqual(await states({ fresh: { ...shell('c'), timeout: 5 } }), [
    ['fresh', 'process', true, ''],
  ]);
  // What was disabled when the hub started has not run.
  const off = createProcessGate(await at(folder.path, { one: { ...shell(), enabled: false } }));
  const [one] = off.hold(await at(folder.path, { one: shell() })).servers;
  assert.ok(one?.enabled === false && one.heldBack?.endsWith('agenthub reload --allow one'));
});

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
