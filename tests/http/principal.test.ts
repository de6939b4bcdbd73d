import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type HubOptions, startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import {
  call,
  modernHeaders,
  modernRequest,
  openSession,
  posting,
  send,
} from '../transports/raw.ts';
import { openSse } from '../transports/raw-clients.ts';

const echo = [{ name: 'echo' }];
const key = { authorization: 'Bearer key' };
const http: HubOptions['http'] = { ownerKey: 'key' };
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('a session is unknown to every principal but the one that opened it', async () => {
  await using hub = await startHub(echo, { http });
  const session = await openSession(`${hub.url}/mcp/echo`);
  assert.equal((await session.post(ping)).status, 200);
  assert.equal((await session.post(ping, key)).status, 404);
  assert.equal((await session.get(key)).status, 404);
  const headers = { 'mcp-session-id': session.id, ...key };
  const ended = await send(`${hub.url}/mcp/echo`, { method: 'DELETE', headers });
  assert.equal(ended.status, 404);
  const unknown = await session.post(ping, { 'mcp-session-id': 'none' });
  assert.equal(await unknown.body(), await (await session.post(ping, key)).body());
  assert.equal((await session.post(ping)).status, 200, 'it is open as before');

  const owned = await openSession(`${hub.url}/mcp/echo`, '2025-11-25', {}, key);
  assert.equal((await owned.post(ping)).status, 404);
  assert.equal((await owned.post(ping, key)).status, 200);
  assert.equal((await owned.end()).status, 404);
});

test('a stream accepts messages only of the principal that opened it', async () => {
  await using hub = await startHub(echo, { http });
  const client = await openSse(hub);
  const post = async (headers: Readonly<Record<string, string>>) =>
    (await send(`${hub.url}${client.endpoint}`, { method: 'POST', headers, body: ping })).status;
  const json = { 'content-type': 'application/json' };
  assert.equal(await post({ ...json, ...key }), 404);
  assert.equal(await post(json), 202);
  await until(() => client.received.length === 1);
  client.close();
});

test('a session opened with the made token continues when calls need no token any longer', async () => {
  let callToken: { readonly token: string; readonly why: string } | undefined;
  callToken = { token: 'made', why: 'a server has a network' };
  await using hub = await startHub(echo, { guard: { callToken: () => callToken } });
  const made = { authorization: 'Bearer made' };
  const session = await openSession(`${hub.url}/mcp/echo`, '2025-11-25', {}, made);
  callToken = undefined;
  assert.equal((await session.post(ping, made)).status, 200);
});

test('a request without a session belongs to the principal that sends it', async () => {
  const principals: Principal[] = [];
  await using hub = await startHub(echo, {
    http,
    observer: ({ principal }) => void principals.push(principal),
  });
  const served = async (path: string, headers: Readonly<Record<string, string>>, body: object) => {
    const answer = await send(`${hub.url}${path}`, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, await answer.body());
    const [principal, ...others] = principals.splice(0);
    assert.deepEqual(others, []);
    return principal?.name;
  };
  const { params } = call(1, 'echo', { text: 'a' });
  const modern = modernRequest(1, 'tools/list');
  const asModern = modernHeaders('tools/list');
  assert.equal(await served('/mcp/echo/tools/call', posting, params), 'local');
  assert.equal(await served('/mcp/echo/tools/call', { ...posting, ...key }, params), 'owner');
  assert.equal(await served('/mcp', asModern, modern), 'local');
  assert.equal(await served('/mcp', { ...asModern, ...key }, modern), 'owner');
});
