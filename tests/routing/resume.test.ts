import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { encodeCall, readMessage } from '#jsonrpc';
import type { EarlierSession, Endpoint } from '#routing';

const earlier: EarlierSession = {
  client: { clientInfo: '{"name":"test","version":"1"}', capabilities: '{}' },
  protocolVersion: '2025-06-18',
  openedAt: 1_750_000_000_000,
  settings: { logLevel: undefined, subscriptions: [] },
};

/**
 * Opens or resumes a session, and records the methods of the messages that its client receives outside its requests.
 */
function open(hub: TestHub, endpoint: Endpoint, from?: EarlierSession) {
  const told: unknown[] = [];
  const session = hub.router.open(
    endpoint,
    caller,
    bytes => void told.push(JSON.parse(bytes.toString()).method),
    { earlier: from },
  );
  return {
    session,
    told,
    ask: async (method: string, params: object = {}): Promise<unknown> => {
      const message = readMessage(encodeCall(1, method, params));
      assert.ok(message.kind === 'request');
      const reply = await session.accept(message, { send() {} }, caller);
      return reply && JSON.parse(Buffer.concat([reply].flat()).toString()).result;
    },
  };
}

const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };

test('a session is saved with its log level and subscriptions, under the names of its client', async () => {
  await using hub = await startHub([{ name: 'echo' }]);
  const { session, ask } = open(hub, 'all');
  assert.equal(session.save(), undefined, 'its client is not initialized');
  await ask('initialize', initialize);
  assert.deepEqual(session.save(), earlier.settings);
  assert.equal(session.save(), session.save(), 'what is saved of most sessions is one object');
  await ask('logging/setLevel', { level: 'error' });
  await ask('resources/subscribe', { uri: 'echo://greeting' });
  await ask('resources/subscribe', { uri: 'hub://servers' });
  assert.deepEqual(session.save(), {
    logLevel: 'error',
    subscriptions: [
      { server: 'echo', uri: 'echo://greeting', publicUri: 'echo://greeting' },
      { server: 'agenthub', uri: 'hub://servers', publicUri: 'hub://servers' },
    ],
  });
  await ask('resources/unsubscribe', { uri: 'echo://greeting' });
  assert.deepEqual(session.save()?.subscriptions.length, 1);
  session.close('over');
  assert.equal(session.save(), undefined);
});

test('a session with an instance of its own is not saved', async () => {
  await using hub = await startHub([{ name: 'echo', instance: 'session' }]);
  const { session, ask } = open(hub, 'all');
  await ask('initialize', initialize);
  assert.ok(session.save());
  await ask('tools/call', { name: 'echo_pid' });
  assert.equal(session.save(), undefined);
});

test('a session with an open request to its client is not saved until the client has answered', async () => {
  await using hub = await startHub([{ name: 'echo' }]);
  const { session, ask } = open(hub, 'all');
  await ask('initialize', { ...initialize, capabilities: { roots: {} } });
  const asking = ask('tools/call', { name: 'echo_ask', arguments: { method: 'roots/list' } });
  await until(() => session.save() === undefined);
  const answer = readMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}'));
  assert.ok(answer.kind === 'answer');
  await session.accept(answer, { send() {} }, caller);
  await asking;
  assert.ok(session.save());
});

test('a resumed session needs no initialize, and gets updates as before', async () => {
  await using hub = await startHub([{ name: 'echo' }]);
  const uri = 'echo://greeting';
  const settings = {
    logLevel: 'error',
    subscriptions: [
      { server: 'echo', uri, publicUri: uri },
      { server: 'gone', uri, publicUri: uri },
    ],
  } as const;
  const { session, told, ask } = open(hub, 'all', { ...earlier, settings });
  assert.equal(session.protocolVersion, '2025-06-18');
  assert.deepEqual(told.splice(0).map(String).toSorted(), [
    'notifications/prompts/list_changed',
    'notifications/resources/list_changed',
    'notifications/tools/list_changed',
  ]);
  assert.deepEqual(session.save(), {
    ...settings,
    subscriptions: settings.subscriptions.slice(0, 1),
  });
  await ask('tools/call', { name: 'echo_touch', arguments: { uri } });
  await until(() => told.includes('notifications/resources/updated'));
  const [shown] = hub.router.sessions();
  assert.equal(shown?.openedAt, earlier.openedAt);
  assert.equal(shown?.client, 'test 1');
});

test('a resumed session unsubscribes at a server that has not listed the resource yet', async () => {
  await using hub = await startHub([{ name: 'echo' }], { start: false });
  const uri = 'echo://greeting';
  const settings = {
    logLevel: undefined,
    subscriptions: [{ server: 'echo', uri, publicUri: uri }],
  };
  const { session, ask } = open(hub, 'all', { ...earlier, settings });
  assert.deepEqual(await ask('resources/unsubscribe', { uri }), {});
  assert.deepEqual(session.save(), earlier.settings);
});

test('a resumed session of one server is notified of changes of the lists that the server has', async () => {
  await using hub = await startHub([{ name: 'asker' }]);
  const { told } = open(hub, hub.server('asker'), earlier);
  assert.deepEqual(told, ['notifications/tools/list_changed']);
});
