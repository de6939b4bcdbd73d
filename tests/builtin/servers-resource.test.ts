import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Server, ServerStatus } from '#servers';
import { createManualClock } from '#helpers/clock';
import {
  type TestHub,
  configOf,
  createFixtureServers,
  createRecordingLog,
  startHub,
  until,
} from '#helpers/hub';
import { createServersResource } from '../../hub/builtin/servers-resource.ts';
import { openAsked } from '../routing/asking.ts';
import { openClient } from '../routing/clients.ts';
import { at } from '../routing/modern.ts';

const uri = 'hub://servers';
const updated = 'notifications/resources/updated';

async function restart(hub: TestHub): Promise<void> {
  await hub.server('echo').stop(false);
  await hub.server('echo').ready();
}

describe('the resource of the hub itself', () => {
  test('can be subscribed to: subscribers are notified of a restart, but not of each of its steps', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    const other = openClient(hub);
    await other.ask('ping');
    assert.deepEqual((await client.ask('resources/subscribe', { uri })).result, {});
    const updates = () => client.told.filter(({ method }) => method === updated);
    let changes = 0;
    using _ = hub.server('echo').changed(() => changes++);
    await restart(hub);
    await until(() => updates().length > 0);
    assert.deepEqual(updates()[0], { jsonrpc: '2.0', method: updated, params: { uri } });
    assert.ok(updates().length < changes, `${updates().length} updates of ${changes} changes`);
    assert.ok(!other.told.some(({ method }) => method === updated));

    assert.deepEqual((await client.ask('resources/unsubscribe', { uri })).result, {});
    const before = updates().length;
    await client.ask('resources/subscribe', { uri: 'echo://greeting' });
    await restart(hub);
    await client.call('echo_touch', { uri: 'echo://greeting' });
    await until(() => updates().length > before);
    const last = updates().slice(before);
    assert.deepEqual(
      last.map(update => at(update, 'params', 'uri')),
      ['echo://greeting'],
    );
  });

  test('can be listened to by clients without a session', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openAsked(hub, 'all');
    void client.ask('subscriptions/listen', {
      notifications: { resourceSubscriptions: [uri, 'echo://none-such'] },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    });
    await until(() => client.told.length > 0);
    const [acknowledged] = client.told;
    assert.deepEqual(at(acknowledged, 'params', 'notifications'), { resourceSubscriptions: [uri] });
    await hub.server('echo').stop(true);
    await until(() => client.told.length > 1);
    assert.equal(at(client.told[1], 'method'), updated);
    assert.equal(at(client.told[1], 'params', 'uri'), uri);
  });
});

/** Counts the listeners for the state of a server that are added from now on. */
function countListeners(server: Server): () => number {
  const { changed } = server;
  let count = 0;
  Object.defineProperty(server, 'changed', {
    value(listener: (status: ServerStatus) => void) {
      const heard = changed(listener);
      count++;
      return {
        [Symbol.dispose]() {
          heard[Symbol.dispose]();
          count--;
        },
      };
    },
  });
  return () => count;
}

describe('a subscription of the resource', () => {
  test('stops listening to a server that was removed, and to an instance whose session ended', async () => {
    const { log } = createRecordingLog();
    await using servers = createFixtureServers([{ name: 'one' }, { name: 'two' }], { log });
    const counts = [countListeners(servers.get('two'))];
    servers.instances.opened(({ server }) => counts.push(countListeners(server)));
    const listeners = () => counts.map(count => count());
    const clock = createManualClock();
    using _ = createServersResource(servers, () => ({}), clock).watch(() => {});
    const session = {};
    servers.instances.of(servers.get('one'), session, undefined, () => false);
    assert.deepEqual(listeners(), [1, 1]);
    servers.instances.release(session);
    await until(() => servers.instances.list(servers.get('one')).length === 0);
    assert.deepEqual(listeners(), [1, 0]);
    await servers.apply({
      servers: [configOf({ name: 'one' })],
      naming: { separator: '_', maxLength: 46 },
    });
    assert.deepEqual(listeners(), [0, 0]);
  });
});
