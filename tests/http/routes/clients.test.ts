import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'vitest';
import { digestOf } from '#access';
import { startHub, until } from '#helpers/hub';
import { openScratchClients, plainClient } from '../../access/scratch.ts';
import { createUpgradesStub } from '../../installs/upgrades/stub.ts';
import { openSession, send } from '../../transports/raw.ts';

const json = { 'content-type': 'application/json' };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const hex = (token: string) => digestOf(token).toString('hex');
const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };

async function open(config: Parameters<typeof openScratchClients>[0] = {}) {
  const scratch = await openScratchClients(config);
  const clients = await scratch.open();
  const hub = await startHub([{ name: 'echo' }], { guard: { clients } });
  const ask = async (
    method: string,
    path: string,
    { body, as = hub.ownerHeaders }: { body?: object; as?: Record<string, string> } = {},
  ) => {
    const headers = { ...as, ...(body && json) };
    const answer = await send(`${hub.url}${path}`, { method, headers, ...(body && { body }) });
    const text = await answer.body();
    return { status: answer.status, headers: answer.headers, text };
  };
  return {
    scratch,
    clients,
    hub,
    ask,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

test('a token is made, shown once, listed without it, and revoked', async () => {
  await using opened = await open({ clients: [plainClient('vscode', { administer: true })] });
  const { ask } = opened;
  const made = await ask('POST', '/clients/cursor/token');
  assert.equal(made.status, 201);
  assert.equal(made.headers['cache-control'], 'no-store');
  const { token, created_at, ...rest } = JSON.parse(made.text);
  assert.deepEqual(
    [rest, created_at],
    [{ name: 'cursor', replaced: false }, '2026-11-23T12:00:00.000Z'],
  );
  assert.equal((await ask('GET', '/servers', { as: bearer(token) })).status, 200);
  const listed = await ask('GET', '/clients');
  assert.deepEqual(JSON.parse(listed.text), {
    tokens: 'optional',
    calls_need_token: false,
    clients: [
      {
        name: 'vscode',
        administer: true,
        token: null,
        created_at: null,
        last_seen: null,
        calls: 0,
        refused: 0,
      },
      {
        name: 'cursor',
        administer: false,
        token: 'made',
        created_at,
        last_seen: created_at,
        calls: 0,
        refused: 0,
      },
    ],
  });
  assert.ok(!listed.text.includes(token) && !listed.text.includes(hex(token)));
  assert.equal((await ask('DELETE', '/clients/cursor/token')).status, 204);
  const refused = await ask('GET', '/servers', { as: bearer(token) });
  assert.equal(refused.status, 401);
  assert.match(
    refused.text,
    /the token of cursor was revoked, was replaced or has expired.*agenthub token create cursor/,
  );
});

test('a digest is accepted instead of a token, and only the token with that digest revoked', async () => {
  await using opened = await open();
  const { ask, clients } = opened;
  const token = 'a-token-that-the-command-made';
  const made = await ask('POST', '/clients/cursor/token', { body: { sha256: hex(token) } });
  assert.deepEqual(JSON.parse(made.text).token, undefined);
  assert.equal(clients.find({ digest: digestOf(token) })?.name, 'cursor');
  const other = await ask('DELETE', '/clients/cursor/token', { body: { sha256: hex('other') } });
  assert.equal(other.status, 404);
  const gone = await ask('DELETE', '/clients/cursor/token', { body: { sha256: hex(token) } });
  assert.equal(gone.status, 204);
});

test.each([
  ['POST', '/clients/owner/token', undefined, 400, /reserved/],
  ['POST', '/clients/a%2Fb/token', undefined, 400, /name of a client/],
  ['POST', '/clients/cursor/token', { sha256: 'ABC' }, 400, /^.*sha256: write the SHA-256/],
  ['POST', '/clients/cursor/token', { token: 'x' }, 400, /takes no body; it had token/],
  ['DELETE', '/clients/nobody/token', undefined, 404, /no client .*nobody.* has a token/],
  ['POST', '/clients/fixed/token', undefined, 409, /clients\.fixed\.token: the config has/],
  ['DELETE', '/clients/fixed/token', undefined, 409, /clients\.fixed\.token: the config has/],
] as const)('%s %s with %j is %i', async (method, path, body, status, text) => {
  await using opened = await open({
    clients: [plainClient('fixed', { tokenDigest: hex('fixed') })],
  });
  const answer = await opened.ask(method, path, { ...(body && { body }) });
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, text);
});

test('the owner of a token is found by its digest', async () => {
  await using opened = await open({ clients: [plainClient('vscode')] });
  const { ask } = opened;
  const { token } = JSON.parse((await ask('POST', '/clients/cursor/token')).text);
  const names = async (query: string) => {
    const { clients } = JSON.parse((await ask('GET', `/clients?${query}`)).text);
    return clients.map((client: { name: string }) => client.name);
  };
  assert.deepEqual(await names(`sha256=${hex(token)}`), ['cursor']);
  assert.deepEqual(await names(`sha256=${hex('other')}`), []);
  await ask('DELETE', '/clients/cursor/token');
  assert.deepEqual(await names(`sha256=${hex(token)}`), []);
  assert.equal((await ask('GET', '/clients?sha256=x')).status, 400);
});

test('a damaged token file is named, and the known tokens stay valid', async () => {
  await using opened = await open();
  const { ask, scratch } = opened;
  const { token } = JSON.parse((await ask('POST', '/clients/cursor/token')).text);
  await writeFile(scratch.file, 'damaged');
  const answer = await ask('POST', '/clients/vscode/token');
  assert.equal(answer.status, 400);
  assert.ok(answer.text.includes(scratch.file));
  assert.equal((await ask('GET', '/servers', { as: bearer(token) })).status, 200);
});

test('a client administers only if its config says so, and its calls are counted', async () => {
  await using opened = await open({
    clients: [
      plainClient('admin', { tokenDigest: hex('admin-token'), administer: true }),
      plainClient('cursor', { tokenDigest: hex('cursor-token') }),
    ],
  });
  const { ask, hub } = opened;
  assert.equal((await ask('GET', '/clients', { as: bearer('admin-token') })).status, 200);
  const refused = await ask('GET', '/clients', { as: bearer('cursor-token') });
  assert.equal(refused.status, 401);
  assert.match(refused.text, /HUB_OWNER_ONLY/);
  const session = await openSession(
    `${hub.url}/mcp/echo`,
    '2025-11-25',
    {},
    bearer('cursor-token'),
  );
  assert.equal((await session.post(ping, bearer('cursor-token'))).status, 200);
  assert.equal((await session.post(ping, bearer('admin-token'))).status, 404, 'of another client');
  assert.equal((await session.post(ping)).status, 404, 'of nobody');
});

test('the streams of a client that follow calls end with its token', async () => {
  await using opened = await open();
  const { ask, hub } = opened;
  const { token } = JSON.parse((await ask('POST', '/clients/cursor/token')).text);
  const accept = 'text/event-stream';
  const [own, other] = await Promise.all(
    [bearer(token), {}].map(
      async as => await send(`${hub.url}/activity/events`, { headers: { accept, ...as } }),
    ),
  );
  assert.deepEqual([own?.status, other?.status], [200, 200]);
  await ask('DELETE', '/clients/cursor/token');
  await own?.body();
  assert.equal(other?.ended(), false);
  other?.cut();
});

test('a request that waits gets no answer after its token is revoked', async () => {
  await using scratch = await openScratchClients({
    clients: [plainClient('admin', { administer: true })],
  });
  const clients = await scratch.open();
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<readonly []>();
  const { upgrades } = createUpgradesStub();
  await using hub = await startHub([], {
    guard: { clients },
    upgrades: {
      ...upgrades,
      async outdated() {
        asked.resolve();
        return await answered.promise;
      },
    },
  });
  const { token = '' } = await clients.create('admin');
  const waiting = assert.rejects(send(`${hub.url}/upgrades`, { headers: bearer(token) }));
  await asked.promise;
  await clients.revoke('admin');
  await waiting;
  answered.resolve([]);
});

test('a stream of administration ends when a reload takes the administration from its client', async () => {
  const admin = plainClient('admin', { tokenDigest: hex('admin-token'), administer: true });
  await using opened = await open({ clients: [admin] });
  const { ask, clients, hub, scratch } = opened;
  const stream = await send(`${hub.url}/logs?server=echo&follow=true`, {
    headers: bearer('admin-token'),
  });
  assert.equal(stream.status, 200);
  scratch.set({ clients: [{ ...admin, administer: false }] });
  await clients.refresh();
  await ask('POST', '/servers/echo/restart');
  assert.doesNotMatch(await stream.body(), /"event":"began"[^]*"event":"began"/);
});

test('a call without a session ends when its token is revoked', async () => {
  await using opened = await open();
  const { ask, hub } = opened;
  const { token } = JSON.parse((await ask('POST', '/clients/cursor/token')).text);
  const body = { name: 'slow', arguments: { ms: 15_000 } };
  const calling = ask('POST', '/mcp/echo/tools/call', { as: bearer(token), body });
  const inFlight = () => hub.server('echo').running?.upstream.inFlight();
  await until(() => inFlight() === 1);
  assert.equal((await ask('DELETE', '/clients/cursor/token')).status, 204);
  await until(() => inFlight() === 0);
  const { status, text } = await calling;
  assert.equal(status, 499);
  assert.match(text, /HUB_CALL_CANCELLED/);
});
