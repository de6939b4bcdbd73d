import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import type { ToolLists } from '#config';
import { isObject } from '#core';
import { type TestHub, startHub } from '#helpers/hub';

let hub: TestHub;
const written: ToolLists[] = [];
beforeAll(async () => {
  const tools = { path: 'servers.files.tools', deny: ['search'] };
  hub = await startHub([{ name: 'files', tools }], {
    changeTools: async (_, next) => void written.push(next(tools)),
  });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

async function ask(method: string, path: string, body?: unknown, headers = {}) {
  const answer = await fetch(`${hub.url}${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const found: unknown = await answer.json();
  return { status: answer.status, body: isObject(found) ? found : {} };
}

test('the tools of a server and of all servers are listed with their states and tokens', async () => {
  const { status, body } = await ask('GET', '/servers/files/tools');
  assert.equal(status, 200);
  assert.deepEqual(body['tools'], [
    { name: 'read_file', public_name: 'files_read_file', enabled: true, tokens: 20 },
    { name: 'write_file', public_name: 'files_write_file', enabled: true, tokens: 20 },
    { name: 'move_file', public_name: 'files_move_file', enabled: true, tokens: 20 },
    {
      name: 'search',
      public_name: 'files_search',
      enabled: false,
      hidden_by: 'servers.files.tools.deny',
      tokens: 18,
    },
  ]);
  const all = await ask('GET', '/tools');
  assert.deepEqual(all.body, { tokens: 60, servers: [body] });
});

test('only the owner may switch tools, and gets the tools of the server as the answer', async () => {
  const path = '/servers/files/tools';
  const change = { disable: ['read_file'], enable: ['search', 'search'] };
  assert.equal((await ask('POST', path, change)).status, 401);
  assert.deepEqual(written, []);
  const { status, body } = await ask('POST', path, change, hub.ownerHeaders);
  assert.deepEqual([status, body['server']], [200, 'files']);
  assert.deepEqual(written, [{ deny: ['read_file'] }]);
});

test.for([
  [{}, 400, /enable: is missing/],
  [{ on: ['a'] }, 400, /on: is not a member of this body/],
  [{ enable: 'search' }, 400, /enable: "search" is not allowed/],
  [{ enable: [1] }, 400, /enable: \[1\] is not allowed/],
  [{ disable: ['nothing'] }, 404, /files has no tool "nothing"/],
] as const)('the body %j is refused', async ([body, status, expected]) => {
  const refused = await ask('POST', '/servers/files/tools', body, hub.ownerHeaders);
  assert.equal(refused.status, status);
  assert.match(JSON.stringify(refused.body), new RegExp(expected.source.replaceAll('"', '\\\\*"')));
});

test('a name that no tool has is not written to the config', async () => {
  for (const [name, shown] of [
    ['x'.repeat(1_001), /x{50,60}\.\.\. is not allowed: .*tools of 1 to 1000 characters/],
    ['', /is not allowed: write a list/],
  ] as const) {
    const body = { disable: [name] };
    const refused = await ask('POST', '/servers/files/tools', body, hub.ownerHeaders);
    assert.equal(refused.status, 400);
    assert.match(JSON.stringify(refused.body), shown);
  }
});
