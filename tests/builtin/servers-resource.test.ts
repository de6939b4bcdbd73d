import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
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
  test('is subscribed to like any other: its readers hear of a restart, and not of each of its steps', async () => {
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

  test('is listened to by clients without a session', async () => {
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
