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
