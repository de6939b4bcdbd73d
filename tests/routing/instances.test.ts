import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { type TestHub, startHub, until } from '#helpers/hub';
import type { Server } from '#servers';
import { openAsked } from './asking.ts';
import { openClient } from './clients.ts';

/** Server with an instance per client, which the hub stops as soon as it finds the instance idle. */
const own = { name: 'echo', instance: 'session', instanceIdleMs: 1 } as const;

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Returns a function that lists the states of the instances of clients, in the order in which they were opened. */
function statesOf(hub: TestHub): () => readonly string[] {
  const instances: Server[] = [];
  hub.servers.instances.opened(({ server }) => instances.push(server));
  return () => instances.map(({ status }) => status.state);
}

describe('an instance of one client', () => {
  test('keeps running while the client is subscribed to one of its resources, and no longer', async () => {
    await using hub = await startHub([own]);
    const states = statesOf(hub);
    const [hearing, idle] = [hub.server('echo'), hub.server('echo')].map(endpoint =>
      openClient(hub, endpoint),
    );
    assert.ok(hearing && idle);
    const uri = { uri: 'echo://greeting' };
    await hearing.ask('resources/subscribe', uri);
    await idle.call('pid');
    // Both instances have been idle by then: the check that stops the one sees the other as well.
    await until(() => states()[1] === 'stopped');
    assert.equal(states()[0], 'running');
    await hearing.ask('resources/unsubscribe', uri);
    await until(() => states()[0] === 'stopped');
  });

  test('keeps running while the client has a task there', async () => {
    await using hub = await startHub([{ ...own, file: 'asker.mjs', name: 'asker' }]);
    const states = statesOf(hub);
    const [working, idle] = [hub.server('asker'), hub.server('asker')].map(endpoint =>
      openClient(hub, endpoint),
    );
    assert.ok(working && idle);
    await working.ask('tools/call', { name: 'hold', arguments: {}, task: { ttl: 60_000 } });
    await idle.call('where');
    await until(() => states()[1] === 'stopped');
    assert.equal(states()[0], 'running');
    working.session.close('over');
    await until(() => states()[0] === 'stopped');
  });

  test('keeps running while the client listens to its lists, and no longer', async () => {
    await using hub = await startHub([own]);
    const states = statesOf(hub);
    const listening = openAsked(hub, hub.server('echo'));
    const over = listening.request('subscriptions/listen', {
      notifications: { toolsListChanged: true },
      _meta: meta,
    });
    await until(() => listening.told.length === 1);
    const idle = openClient(hub, hub.server('echo'));
    await idle.call('pid');
    await until(() => states()[1] === 'stopped');
    assert.equal(states()[0], 'running');
    await listening.notify('notifications/cancelled', { requestId: 1 });
    await over;
    await until(() => states()[0] === 'stopped');
  });
});

describe('a hub that stops', () => {
  test('fails calls with the reason that it stops, and that a retry may succeed', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub, hub.server('echo'));
    await client.initialize();
    const slow = client.call('slow', { ms: 60_000 });
    hub.router.close();
    client.session.close('the hub is stopping');
    const { error } = await slow;
    assert.equal(error.code, -32003);
    assert.equal(error.data['code'], 'HUB_SHUTTING_DOWN');
    assert.equal(error.data['retryable'], true);
    assert.match(error.message, /the hub is stopping/);
  });

  test('distinguishes these calls from one that its own client cancels', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub, hub.server('echo'));
    await client.initialize();
    const slow = client.call('slow', { ms: 60_000 });
    client.session.close('the client is gone');
    assert.equal((await slow).error.code, -32800);
  });
});

describe('a client that connects while a server is being restarted', () => {
  test('gets its initialize result when the server is ready', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    await openClient(hub, hub.server('echo')).call('crash', { code: 1 });
    await until(() => hub.server('echo').status.state === 'backing_off');
    const { result } = await openClient(hub, hub.server('echo')).initialize();
    assert.ok(isObject(result['serverInfo']));
  });
});
