import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { digestOf } from '#access';
import { systemClock } from '#core';
import { type HubOptions, startHub } from '#helpers/hub';
import { openScratchClients, plainClient } from '../access/scratch.ts';
import { posting, send } from '../transports/raw.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const ping = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  },
};
const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

type Ask = (url: string, headers: Readonly<Record<string, string>>) => ReturnType<typeof send>;

const readers: Readonly<Record<string, Ask>> = {
  'plain posts': async (url, headers) =>
    await send(`${url}/mcp`, { method: 'POST', headers: { ...posting, ...headers }, body: ping }),
  upgrades: async (url, headers) =>
    await send(`${url}/mcp`, { headers: { ...upgrade, ...headers } }),
  'HTTP with SSE': async (url, headers) =>
    await send(`${url}/sse`, { headers: { accept: 'text/event-stream', ...headers } }),
  routes: async (url, headers) => await send(`${url}/servers`, { headers }),
};

describe.each(Object.entries(readers))('wrong tokens of %s', (what, ask) => {
  test('are slowed down for their address, and the right one is admitted', async () => {
    await using scratch = await openScratchClients({
      tokens: 'required',
      clients: [plainClient('cursor', { tokenDigest: digestOf('cursor-token').toString('hex') })],
    });
    let shiftMs = 0;
    const options: HubOptions = {
      guard: { clients: await scratch.open() },
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + shiftMs },
    };
    await using hub = await startHub([{ name: 'echo' }], options);
    const status = async (headers: Readonly<Record<string, string>>) => {
      const answer = await ask(hub.url, headers);
      answer.cut();
      return [answer.status, Number(answer.headers['retry-after'] ?? 0)] as const;
    };
    for (let count = 0; count < 10; count++)
      assert.deepEqual(await status(bearer('wrong')), [401, 0], `${count}`);
    const [slowed, waitS] = await status(bearer('wrong'));
    assert.equal(slowed, 429);
    assert.ok(waitS > 0 && waitS <= 60, `${waitS}`);
    assert.deepEqual(await status({}), [401, 0], 'no token is no guess');
    if (what !== 'upgrades') assert.deepEqual(await status(bearer('cursor-token')), [200, 0]);
    const owner = await send(`${hub.url}/clients`, { headers: hub.ownerHeaders });
    assert.equal(owner.status, 200);
    shiftMs = 61_000;
    assert.deepEqual(await status(bearer('wrong')), [401, 0], 'a minute later');
    const lines = hub.logged.filter(({ message }) => /wrong token was refused/.test(message));
    assert.equal(lines.length, 11);
  });
});

describe('wrong keys of administration and failed logins', () => {
  const token = 'a-token-16-chars';
  const logIn = async (url: string, given: string) => {
    const body = `token=${encodeURIComponent(given)}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await fetch(`${url}/dashboard/login`, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
    });
    await answer.text();
    return answer.status;
  };
  const administer = async (url: string, key: string) => {
    const answer = await send(`${url}/config/reload`, { method: 'POST', headers: bearer(key) });
    answer.cut();
    return answer.status;
  };

  test('are counted separately: an old key in a script does not keep a person from logging in', async () => {
    await using hub = await startHub([], { http: { token } });
    for (let count = 0; count < 10; count++)
      assert.equal(await administer(hub.url, 'old-key'), 401, `${count}`);
    assert.equal(await administer(hub.url, 'old-key'), 429);
    assert.equal(await logIn(hub.url, token), 303);
  });

  test('are counted separately: a person who mistypes does not slow down commands', async () => {
    await using hub = await startHub([], { http: { token } });
    for (let count = 0; count < 10; count++) await logIn(hub.url, `wrong-${count}`);
    assert.equal(await logIn(hub.url, token), 429);
    assert.equal(await administer(hub.url, 'old-key'), 401);
    const own = await send(`${hub.url}/config/reload`, {
      method: 'POST',
      headers: hub.ownerHeaders,
    });
    own.cut();
    assert.ok(![401, 429].includes(own.status), `${own.status}`);
  });
});
