import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import { openCatalogHub } from '../../catalog/scene.ts';
import { send } from '../../transports/raw.ts';

const postgres = 'io.github.someone/postgres-mcp';
let scene: Awaited<ReturnType<typeof openCatalogHub>>;
beforeAll(async () => {
  scene = await openCatalogHub();
});
afterAll(async () => await scene?.[Symbol.asyncDispose]());

async function ask(
  method: string,
  path: string,
  body?: object,
  headers: object = scene.hub.ownerHeaders,
) {
  const answer = await send(`${scene.hub.url}${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body }),
  });
  const text = await answer.body();
  const value: unknown = text === '' ? {} : JSON.parse(text);
  assert.ok(isObject(value));
  return { status: answer.status, body: value };
}

test('only the owner can make the hub query the registry', async () => {
  for (const path of ['/catalog', `/catalog/server?name=${postgres}`])
    assert.equal((await ask('GET', path, undefined, {})).status, 401);
  assert.equal((await ask('POST', '/catalog/install', { server: postgres }, {})).status, 401);
  assert.deepEqual(scene.registry.asked, []);
});

test('a search and a server name their registry', async () => {
  const found = await ask('GET', '/catalog?search=postgres');
  assert.deepEqual(Object.keys(found.body), ['servers', 'next', 'source']);
  assert.match(
    JSON.stringify(found.body['source']),
    /"from":"registry".*"age_seconds":\d+,"problem":null/,
  );
  assert.match(JSON.stringify(found.body['servers']), /"popularity":\{"of":"stars","count":42\}/);
  const { body } = await ask('GET', `/catalog/server?name=${encodeURIComponent(postgres)}`);
  assert.match(JSON.stringify(body['options']), /"required":true,"secret":true/);
  assert.equal((await ask('GET', '/catalog/server')).status, 400);
  assert.equal((await ask('GET', '/catalog/server?name=com.example/none')).status, 404);
});

test('a secret is stored, and the entry refers to it', async () => {
  const body = {
    server: postgres,
    name: 'shop',
    env: { DATABASE_PASSWORD: 'hunter2!' },
    variables: { database: 'shop' },
  };
  const refused = await ask('POST', '/catalog/install', body);
  // The config of this test has no source of secrets.
  assert.match(
    JSON.stringify(refused.body),
    /secret SHOP_DATABASE_PASSWORD is not set/,
    'it is confirmed',
  );
  assert.deepEqual([...scene.secrets], [['SHOP_DATABASE_PASSWORD', 'hunter2!']]);
  assert.doesNotMatch(JSON.stringify(refused.body), /hunter2/);
});

test('a server of the catalog is not run without a container', async () => {
  const refused = await ask('POST', '/catalog/install', {
    server: postgres,
    env: { DATABASE_PASSWORD: '${GIVEN}' },
    variables: { database: 'shop' },
    confirm: ['variable:GIVEN'],
  });
  assert.equal(refused.status, 400, JSON.stringify(refused.body));
  assert.match(JSON.stringify(refused.body), /HUB_LAUNCH_INVALID.*run in containers only/);
  assert.deepEqual([...scene.installing.entries], [], 'nothing was written');
  assert.deepEqual(scene.installing.launched, [], 'nothing ran');
});
