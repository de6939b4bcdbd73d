import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { test } from 'vitest';
import { connectEra } from '#helpers/eras';
import { type HubProcess, getJson, settled, startHub, until } from '#helpers/hub-process';
import { freePort } from '#helpers/port';

const echo = join(import.meta.dirname, '../fixtures/servers/echo.mjs');

/** Starts hubs called a, b, c. Each has a server `echo`, and the next hub as a server under the name of that hub. */
async function startRing(
  size: number,
  stack: AsyncDisposableStack,
): Promise<readonly HubProcess[]> {
  const names = ['a', 'b', 'c'].slice(0, size);
  const ports = await Promise.all(names.map(() => freePort()));
  return await Promise.all(
    names.map(async (_, index) => {
      const next = (index + 1) % size;
      const servers = {
        echo: { command: process.execPath, args: [echo], runtime: 'process', auto_start: true },
        [names[next] ?? '']: { url: `http://127.0.0.1:${ports[next]}/mcp`, auto_start: true },
      };
      const port = ports[index] ?? 0;
      return stack.use(
        await startHub({ config: { servers }, port, env: { HUB_NAME: `ring-${index}` } }),
      );
    }),
  );
}

async function toolNames(hub: HubProcess): Promise<readonly string[]> {
  await using client = await connectEra('2025', `${hub.url}/mcp`);
  return (await client.toolNames()).filter(name => name.endsWith('echo')).toSorted();
}

test.concurrent.for([
  [2, ['b_echo_echo', 'echo_echo']],
  [3, ['b_c_echo_echo', 'b_echo_echo', 'echo_echo']],
] as const)(
  'the tools of %d hubs that are servers of each other do not grow',
  async ([size, expected]) => {
    await using stack = new AsyncDisposableStack();
    const [first = assert.fail()] = await startRing(size, stack);
    await until(
      () => toolNames(first),
      names => names.length >= expected.length,
      30_000,
    );
    // A changed list is read after a second, so a growing one would show by now.
    await setTimeout(3_500);
    assert.deepEqual(await toolNames(first), expected);
  },
);

test('an entry that is the hub itself behind another address is refused', async () => {
  const port = await freePort();
  const forwarder = createServer(client => {
    const hub = connect(port, '127.0.0.1');
    // A reset on one side ends the other side too.
    client.on('error', () => hub.destroy()).pipe(hub);
    hub.on('error', () => client.destroy()).pipe(client);
  });
  await once(forwarder.listen(await freePort(), '127.0.0.1'), 'listening');
  try {
    const address = forwarder.address();
    assert.ok(typeof address === 'object' && address);
    const self = { url: `http://127.0.0.1:${address.port}/mcp`, auto_start: true };
    await using hub = await startHub({ config: { servers: { self } }, port });
    assert.deepEqual(await settled(hub, 30_000), { self: 'failed' });
    assert.match(JSON.stringify(await getJson(hub, '/servers/self')), /is this hub itself/);
  } finally {
    forwarder.close();
  }
});
