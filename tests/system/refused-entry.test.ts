import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { isObject } from '#core';
import { type HubProcess, getJson, startHub, states, until } from '#helpers/hub-process';

const fixture = (file: string) => join(import.meta.dirname, '../fixtures/servers', file);
const configOf = (file: string) => ({
  servers: {
    victim: {
      command: process.execPath,
      args: [fixture(file)],
      runtime: 'process',
      auto_start: true,
    },
  },
});

async function object(hub: HubProcess, path: string, method = 'GET', body?: object) {
  const answer: unknown = await (
    await fetch(`${hub.url}${path}`, {
      method,
      headers: { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  ).json();
  return isObject(answer) ? answer : assert.fail(`${path} answers ${JSON.stringify(answer)}`);
}

/** Returns the part `config` of `/health`. */
async function configOfHealth(hub: HubProcess): Promise<string> {
  const health = await getJson(hub, '/health');
  return isObject(health) && isObject(health['parts'])
    ? JSON.stringify(health['parts']['config'])
    : '';
}

test('an entry that does not come up is shown, tried again, and taken back without a restart', async () => {
  await using hub = await startHub({ config: configOf('echo.mjs') });
  await until(
    () => states(hub),
    ({ victim }) => victim === 'running',
    20_000,
  );
  await writeFile(hub.configFile, JSON.stringify(configOf('exit-at-once.mjs')));
  for (const turn of ['first', 'same file']) {
    // A changed command line must be allowed, once for both reloads.
    const body = turn === 'first' ? { allow: ['victim'] } : undefined;
    const { status, failed } = await object(hub, '/config/reload', 'POST', body);
    assert.equal(status, 'changed', turn);
    assert.match(JSON.stringify(failed), /"server":"victim".*exited with code 3/, turn);
  }
  const { state, instance, refused_entry: refused } = await object(hub, '/servers/victim');
  assert.equal(state, 'running');
  assert.ok(isObject(refused));
  assert.match(String(refused['message']), /exited with code 3/);
  assert.match(await configOfHealth(hub), /degraded.*victim did not start with the new entry/);
  await writeFile(hub.configFile, JSON.stringify(configOf('echo.mjs')));
  const back = await object(hub, '/config/reload', 'POST');
  assert.deepEqual([back['changed'], back['failed'], back['unchanged']], [[], [], 1]);
  const after = await object(hub, '/servers/victim');
  assert.deepEqual(after['instance'], instance, 'it is still the same process');
  assert.equal(after['refused_entry'], undefined);
  assert.match(await configOfHealth(hub), /"state":"up"/);
  assert.deepEqual(await object(hub, '/config/reload', 'POST'), { status: 'unchanged' });
});
