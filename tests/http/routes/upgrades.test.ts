import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import { type TestHub, startHub } from '#helpers/hub';
import { createUpgradesStub } from '../../installs/upgrades/stub.ts';
import { send } from '../../transports/raw.ts';

const { upgrades, asked } = createUpgradesStub();
let hub: TestHub;
beforeAll(async () => {
  hub = await startHub([], { upgrades });
});
afterAll(async () => await hub?.[Symbol.asyncDispose]());

async function ask(
  method: string,
  path: string,
  body?: object,
  headers: object = hub.ownerHeaders,
) {
  const answer = await send(`${hub.url}${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body }),
  });
  return { status: answer.status, text: await answer.body() };
}

test('only the owner may list versions, which queries registries, and change them', async () => {
  for (const [method, path] of [
    ['GET', '/upgrades'],
    ['POST', '/servers/one/upgrade'],
    ['POST', '/servers/one/rollback'],
    ['POST', '/prune'],
  ] as const)
    assert.equal(
      (await ask(method, path, method === 'POST' ? {} : undefined, {})).status,
      401,
      path,
    );
  assert.deepEqual(asked, []);
  const { text } = await ask('GET', '/upgrades');
  const answer: unknown = JSON.parse(text);
  assert.ok(isObject(answer) && Array.isArray(answer['servers']) && answer['servers'].length === 4);
});

test('an upgrade, a rollback and a prune pass on their options', async () => {
  asked.length = 0;
  const body = { version: '2.0.0', accept: 'digest' };
  assert.match((await ask('POST', '/servers/one/upgrade', body)).text, /"done":true/);
  assert.match((await ask('POST', '/servers/one/upgrade', { dry_run: true })).text, /"done":false/);
  assert.equal((await ask('POST', '/servers/one/rollback')).status, 200);
  assert.equal((await ask('POST', '/prune', { dry_run: true })).status, 200);
  assert.deepEqual(asked, [
    'upgrade one 2.0.0 digest false',
    'upgrade one - - true',
    'rollback one',
    'prune true',
  ]);
});

test('the steps are events if the client accepts them, also before a failure', async () => {
  const headers = { ...hub.ownerHeaders, accept: 'text/event-stream' };
  const { text } = await ask('POST', '/servers/one/upgrade', {}, headers);
  assert.match(text, /^event: progress\ndata: \{"step":"trial".*\n\nevent: done\n/);
  assert.match(
    (await ask('POST', '/servers/gone/upgrade', {}, headers)).text,
    /event: error\ndata: \{"error":\{"code":"HUB_SERVER_UNKNOWN"/,
  );
});

test.each([
  ['/servers/one/upgrade', { other: 1 }, /other: is not a member of this body/],
  ['/servers/one/upgrade', { version: 5 }, /version: 5 is not allowed: write a string/],
  ['/servers/one/upgrade', { dry_run: 'yes' }, /dry_run: "yes" is not allowed/],
  ['/servers/one/rollback', { version: '1' }, /takes no body/],
  ['/prune', { all: true }, /all: is not a member of this body, which takes dry_run/],
  ['/prune', [{ dry_run: true }], /the body is not a JSON object, but \[/],
  ['/servers/one/rollback', ['1'], /the body is not a JSON object/],
])('%s refuses %j', async (path, body, message) => {
  const { status, text } = await ask('POST', path, body);
  assert.equal(status, 400);
  assert.match(text.replaceAll('\\"', '"'), message);
});
