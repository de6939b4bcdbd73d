import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { type TestHub, startHub, until } from '#helpers/hub';
import type { Endpoint } from '#routing';
import { openAsked } from '../asking.ts';
import { openClient } from '../clients.ts';
import { at, openModern } from '../modern.ts';
import { callWith } from '../steps/scripted-call.ts';
import { readFilter } from '../../../hub/routing/events/subscription-streams.ts';

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const idKey = 'io.modelcontextprotocol/subscriptionId';
const greeting = { uri: 'echo://greeting' };

/** Opens a client of 2026-07-28 with a `subscriptions/listen` stream. */
async function listen(hub: TestHub, endpoint: Endpoint, notifications: object) {
  const client = openAsked(hub, endpoint);
  const over = client.request('subscriptions/listen', { notifications, _meta: meta });
  await until(() => client.told.length > 0);
  const [acknowledged] = client.told.splice(0);
  assert.equal(acknowledged?.['method'], 'notifications/subscriptions/acknowledged');
  const params = acknowledged?.['params'];
  return {
    client,
    over,
    honoured: isObject(params) ? params['notifications'] : undefined,
    acknowledged: params,
    call: (name: string, given: object = {}) =>
      client.ask('tools/call', { name, arguments: given, _meta: meta }),
  };
}

describe('a client that listens', () => {
  test('receives the acknowledged filter, then list and resource notifications, each with its request id', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const { client, honoured, acknowledged, call } = await listen(hub, hub.server('echo'), {
      toolsListChanged: true,
      promptsListChanged: false,
      resourceSubscriptions: ['echo://greeting'],
      somethingElse: true,
    });
    assert.deepEqual(honoured, {
      toolsListChanged: true,
      resourceSubscriptions: ['echo://greeting'],
    });
    assert.ok(isObject(acknowledged));
    assert.deepEqual(acknowledged['_meta'], { [idKey]: 1 });
    await call('touch', { uri: 'echo://greeting' });
    await call('touch', { uri: 'echo://picture' });
    await call('relist');
    await until(() => client.told.length >= 2);
    assert.deepEqual(client.told, [
      {
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { _meta: { [idKey]: 1 }, uri: 'echo://greeting' },
      },
      {
        jsonrpc: '2.0',
        method: 'notifications/tools/list_changed',
        params: { _meta: { [idKey]: 1 } },
      },
    ]);
  });

  test('receives the acknowledged filter before any notification', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openAsked(hub, hub.server('echo'));
    const notes = Array.from({ length: 100 }, (_, at) => `echo://note/${at}`);
    const resourceSubscriptions = [greeting.uri, ...notes];
    void client.ask('subscriptions/listen', {
      notifications: { resourceSubscriptions },
      _meta: meta,
    });
    // The hub subscribes to one resource after the other, so the first is updated while the last are still pending.
    while (client.told.length === 0)
      await client.ask('tools/call', { name: 'touch', arguments: greeting, _meta: meta });
    await client.ask('tools/call', { name: 'touch', arguments: greeting, _meta: meta });
    assert.deepEqual(
      client.told.slice(0, 2).map(({ method }) => method),
      ['notifications/subscriptions/acknowledged', 'notifications/resources/updated'],
    );
  });

  test('to all servers gets resources by their public names', async () => {
    await using hub = await startHub([{ name: 'echo' }, { name: 'other', file: 'echo.mjs' }]);
    const { client, honoured, call } = await listen(hub, 'all', {
      resourceSubscriptions: ['other+echo://greeting', 'no://such'],
    });
    assert.deepEqual(honoured, { resourceSubscriptions: ['other+echo://greeting'] });
    await call('echo_touch', { uri: 'echo://greeting' });
    await call('other_touch', { uri: 'echo://greeting' });
    await until(() => client.told.length > 0);
    assert.deepEqual(
      client.told.map(({ params }) => isObject(params) && params['uri']),
      ['other+echo://greeting'],
    );
  });

  test('that disconnects is removed; one that stays is notified when the hub stops', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const filter = { toolsListChanged: true, resourceSubscriptions: ['echo://greeting'] };
    const left = await listen(hub, hub.server('echo'), filter);
    await left.client.notify('notifications/cancelled', { requestId: 1 });
    assert.equal(await left.over, undefined, 'MCP 2026-07-28 forbids all further messages');
    const stays = await listen(hub, hub.server('echo'), filter);
    assert.equal(hub.router.inFlight, 0);
    hub.router.close();
    assert.deepEqual((await stays.over)?.['result'], {
      resultType: 'complete',
      _meta: { [idKey]: 1 },
    });
  });

  test('still gets resource updates of a server that was restarted', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const { client, call } = await listen(hub, hub.server('echo'), {
      resourceSubscriptions: ['echo://greeting'],
    });
    await call('crash', { code: 1 });
    await until(
      () => hub.server('echo').restarts === 1 && hub.server('echo').running !== undefined,
    );
    // The hub subscribes again when the server starts; a later call on the same channel comes after that.
    await call('touch', { uri: 'echo://greeting' });
    await until(() => client.told.length > 0);
    assert.equal(client.told[0]?.['method'], 'notifications/resources/updated');
  });

  test('the maximum number of times leaves room for other clients, and may again when one stream has ended', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const [greedy, other] = ['greedy', 'other'].map(name =>
      openModern(hub, 'all', {}, undefined, {
        kind: 'client',
        name,
        grants: { administer: false },
      }),
    );
    assert.ok(greedy && other);
    const listening = ({ request }: typeof greedy) =>
      request('subscriptions/listen', { notifications: {} });
    for (let open = 0; open < 1_000; open++) void listening(greedy);
    await until(() => greedy.told.length === 1_000);
    const refused = (await listening(greedy))?.['error'];
    assert.match(
      JSON.stringify(refused),
      /has 1000 open requests to listen.*HUB_SUBSCRIPTIONS_FULL/,
    );
    void listening(other);
    await until(() => other.told.length === 1);
    await greedy.notify('notifications/cancelled', { requestId: 1 });
    void listening(greedy);
    await until(() => greedy.told.length === 1_001);
    hub.router.close();
  });

  test('to 10,000 tasks is refused further ones, until one of its requests has ended', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openModern(hub, 'all');
    const listening = (from: number) => {
      const taskIds = Array.from({ length: 1_000 }, (_, at) => `task-${from + at}`);
      return client.request('subscriptions/listen', { notifications: { taskIds } });
    };
    for (let open = 0; open < 10; open++) void listening(1_000 * open);
    await until(() => client.told.length === 10);
    const refused = (await listening(10_000))?.['error'];
    assert.match(JSON.stringify(refused), /listens to 10000 tasks.*HUB_SUBSCRIPTIONS_FULL/);
    await client.notify('notifications/cancelled', { requestId: 1 });
    void listening(10_000);
    await until(() => client.told.length === 11);
    hub.router.close();
  });

  const wantsGreeting = { resourceSubscriptions: [greeting.uri] };

  test('and disconnects has no subscription left, at the server neither', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const other = openClient(hub, hub.server('echo'));
    const [left, ended] = [
      await listen(hub, hub.server('echo'), wantsGreeting),
      await listen(hub, hub.server('echo'), wantsGreeting),
    ];
    await left.client.notify('notifications/cancelled', { requestId: 1 });
    await left.over;
    assert.equal((await other.call('touch', greeting)).text, 'told', 'another wants to know still');
    assert.deepEqual([left.client.told.length, ended.client.told.length], [0, 1]);
    ended.client.session.close('gone');
    await ended.over;
    assert.equal((await other.call('touch', greeting)).text, 'nobody subscribed');
  });

  test('gets an acknowledged filter with only the resources of running servers', async () => {
    await using hub = await startHub([{ name: 'echo' }, { name: 'other', file: 'echo.mjs' }]);
    await hub.server('echo').stop(true);
    const { client, honoured, call } = await listen(hub, 'all', {
      resourceSubscriptions: ['echo://greeting', 'other+echo://greeting'],
    });
    assert.deepEqual(honoured, { resourceSubscriptions: ['other+echo://greeting'] });
    await call('other_touch', greeting);
    await until(() => client.told.length === 1);
  });

  test('to several servers and is refused for one is subscribed at none', async () => {
    await using hub = await startHub([
      { name: 'echo' },
      { name: 'own', file: 'whisper.mjs', instance: 'session', maxInstances: 1 },
    ]);
    const [holder, other] = [openClient(hub), openClient(hub, hub.server('echo'))];
    await holder.call('own_pid');
    const client = openModern(hub, 'all');
    const notifications = { resourceSubscriptions: ['echo://greeting', 'whisper://one'] };
    const refused = await client.ask('subscriptions/listen', { notifications });
    assert.equal(at(refused, 'error', 'data', 'code'), 'HUB_INSTANCES_FULL');
    assert.deepEqual(client.told, [], 'what is refused is not acknowledged');
    assert.equal((await other.call('touch', greeting)).text, 'nobody subscribed');
  });

  test('with an invalid filter is refused', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openAsked(hub, 'all');
    for (const notifications of [undefined, 7, { resourceSubscriptions: 'x' }, { taskIds: [1] }]) {
      const { error } = await client.ask('subscriptions/listen', { notifications, _meta: meta });
      assert.equal(isObject(error) && error['code'], -32602);
    }
  });
});

test('subscriptions/listen is refused above the maximum size that the hub stores for hours', () => {
  const filter = (pad: number) =>
    readFilter(
      callWith('subscriptions/listen', {
        notifications: {},
        pad: 'x'.repeat(pad),
        _meta: meta,
      }),
    );
  assert.equal(filter(200 * 1024).uris.length, 0);
  assert.throws(() => filter(256 * 1024), { code: 'HUB_REQUEST_INVALID', message: /262144 bytes/ });
});
