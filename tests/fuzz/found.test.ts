import assert from 'node:assert/strict';
import { afterEach, describe, expect, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { readMessages } from '#jsonrpc';
import { metaKeys, modernVersion } from '#mcp';
import { openClient } from '../routing/clients.ts';
import { openSession } from '../transports/raw.ts';
import { uncaught } from './settings.ts';

const old = { name: 'old', file: 'whisper.mjs', era: 'legacy' } as const;
const meta = { [metaKeys.protocolVersion]: modernVersion, [metaKeys.clientCapabilities]: {} };
const listenTo = (notifications: object) => ({ notifications, _meta: meta });

type Client = ReturnType<typeof openClient>;

/** Opens a client that supports sampling. */
async function join(hub: TestHub): Promise<Client> {
  const client = openClient(hub, hub.server('old'));
  await client.ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { sampling: {} },
    clientInfo: { name: 'found', version: '1' },
  });
  return client;
}

/** Sends a request. Returns a promise for its answer as text. */
const begin = (client: Client, id: string | number, method: string, params: object) =>
  client
    .send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    .then(({ answer }) => String(answer));

/** Makes a request to the server, so that all its earlier messages have arrived. */
const hearOut = (hub: TestHub) => openClient(hub, hub.server('old')).ask('resources/list', {});

afterEach(() => expect(uncaught.splice(0)).toEqual([]));

describe('tasks', () => {
  test('of a client with a session are unknown to a client without one', async () => {
    await using hub = await startHub([old]);
    const made = await (
      await join(hub)
    ).ask('tools/call', { name: 'echo', arguments: { secret: 'hidden' }, task: {} });
    assert.match(JSON.stringify(made.result), /hidden/);
    const other = openClient(hub, hub.server('old'));
    for (const method of ['tasks/list', 'tasks/get', 'tasks/result', 'tasks/cancel']) {
      const { result, error } = await other.ask(method, { taskId: 'task-1', _meta: meta });
      assert.doesNotMatch(JSON.stringify(result), /hidden/, method);
      assert.equal(error.code, -32601, method);
    }
  });
});

describe('an id in use', () => {
  const listen = ['subscriptions/listen', listenTo({ toolsListChanged: true })] as const;
  const slow = (more: object) =>
    [
      'tools/call',
      { name: 'slow', arguments: { ms: 5_000 }, _meta: { ...meta, ...more } },
    ] as const;

  test('is refused for a second subscriptions/listen, and the first ends with its client', async () => {
    await using hub = await startHub([old]);
    const client = openClient(hub, 'all');
    const first = begin(client, 7, ...listen);
    const second = begin(client, 7, ...listen);
    assert.match(await second, /HUB_REQUEST_INVALID/);
    client.session.close('the client hung up');
    assert.match(await first, /HUB_CALL_CANCELLED/);
  });

  test('is refused while the server still sets the log level of the first', async () => {
    await using hub = await startHub([old]);
    const client = openClient(hub, hub.server('old'));
    const first = begin(client, 7, ...slow({ [metaKeys.logLevel]: 'info' }));
    const second = begin(client, 7, ...listen);
    assert.match(await second, /HUB_REQUEST_INVALID/);
    client.session.close('the client hung up');
    assert.match(await first, /HUB_CALL_CANCELLED/);
  });

  test('can be cancelled while the server still sets the log level', async () => {
    await using hub = await startHub([old]);
    const client = openClient(hub, hub.server('old'));
    const call = begin(client, 7, ...slow({ [metaKeys.logLevel]: 'info' }));
    await client.notify('notifications/cancelled', { requestId: 7 });
    assert.equal(await call, 'undefined', 'MCP 2026-07-28 forbids all further messages about it');
  });

  test('is returned unchanged when listening ends, however large', async () => {
    await using hub = await startHub([old]);
    const client = openClient(hub, 'all');
    const id = '9007199254740993';
    const text = JSON.stringify({ jsonrpc: '2.0', method: listen[0], params: listen[1] });
    const over = client.send(text.replace('{', `{"id":${id},`));
    await hearOut(hub);
    hub.router.close();
    const { answer } = await over;
    assert.equal(String(answer).match(new RegExp(id, 'g'))?.length, 2, String(answer));
  });
});

describe('a client that disconnects', () => {
  test('during its subscription gets no notification, and its request ends', async () => {
    await using hub = await startHub([old]);
    const client = openClient(hub, hub.server('old'));
    const uri = 'whisper://one';
    const listening = begin(
      client,
      7,
      'subscriptions/listen',
      listenTo({ resourceSubscriptions: [uri] }),
    );
    client.session.close('the client hung up');
    assert.match(await listening, /HUB_CALL_CANCELLED/);
    await hearOut(hub);
    await openClient(hub, hub.server('old')).ask('tools/call', {
      name: 'touch',
      arguments: { uri },
    });
    await hearOut(hub);
    assert.deepEqual(client.told, []);
  });

  test('before its subscriptions/listen has begun is not a listener', async () => {
    await using hub = await startHub([{ ...old, instance: 'session' }]);
    const client = await join(hub);
    const listening = begin(
      client,
      7,
      'subscriptions/listen',
      listenTo({ toolsListChanged: true }),
    );
    client.session.close('the client hung up');
    assert.match(await listening, /HUB_CALL_CANCELLED/);
  });

  test('ends its session, even if it listened in that session', async () => {
    const clock = createManualClock();
    await using hub = await startHub([old], { clock });
    const session = await openSession(`${hub.url}/mcp`);
    const leaving = new AbortController();
    const params = listenTo({ toolsListChanged: true });
    const body = { jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params };
    void session.post(body, {}, leaving.signal).catch(() => undefined);
    // The listen request may be refused, or end with its connection.
    await until(() => hub.router.sessionCount > 0);
    await openSession(`${hub.url}/mcp`);
    leaving.abort();
    await until(
      () => {
        clock.advance(5_000);
        return hub.streamable.sessionCount === 0;
      },
      () => `${hub.streamable.sessionCount} sessions`,
      3_000,
    );
  });
});

describe('a notification of a server for a cancelled call', () => {
  /** Starts a call and cancels it. The server then sends a message about the cancelled call. */
  async function cancelLate(hub: TestHub, victim: Client): Promise<void> {
    const given = { secret: 'hidden', ms: 5_000, late: true };
    const call = begin(victim, 1, 'tools/call', { name: 'slow', arguments: given });
    await hearOut(hub);
    await victim.notify('notifications/cancelled', { requestId: 1 });
    assert.match(await call, /HUB_CALL_CANCELLED/);
  }

  test('is not sent to a client that is alone with the server by then', async () => {
    await using hub = await startHub([old]);
    const victim = await join(hub);
    const other = await join(hub);
    const waiting = other.call('slow', { secret: 'own', ms: 200 });
    await cancelLate(hub, victim);
    const { related } = await waiting;
    assert.doesNotMatch(JSON.stringify([...related, ...other.told]), /hidden/);
  });

  test('is not sent to all clients if no call is left', async () => {
    await using hub = await startHub([old]);
    const victim = await join(hub);
    const other = await join(hub);
    await cancelLate(hub, victim);
    // The hub's own request belongs to no call of a client.
    await hub.server('old').refresh('tool');
    assert.doesNotMatch(JSON.stringify(other.told), /hidden/);
  });
});

describe('a notification of a server about a resource', () => {
  const uri = 'whisper://one';
  const updated = 'notifications/resources/updated';
  const params = listenTo({ resourceSubscriptions: [uri] });

  /** Opens a client with a subscription, and collects the messages on it. */
  async function listening(hub: TestHub): Promise<readonly string[]> {
    const told: string[] = [];
    const [message] = readMessages(
      Buffer.from(
        JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params }),
      ),
    ).messages;
    assert.ok(message?.kind === 'request');
    const session = hub.router.open(hub.server('old'), caller, () => {});
    void session.accept(message, { send: bytes => void told.push(bytes.toString()) }, caller);
    await until(() => told.length > 0);
    return told;
  }

  test.for([
    ['an array', '[1,2]'],
    ['a number', '35'],
    ['an object with a name twice', '{"a":1,"a":2}'],
  ] as const)('reaches the listeners even if its metadata is %s', async ([, odd]) => {
    await using hub = await startHub([old]);
    const told = await listening(hub);
    const line = `{"jsonrpc":"2.0","method":"${updated}","params":{"_meta":${odd},"uri":"${uri}"}}`;
    await openClient(hub, hub.server('old')).call('touch', { line });
    await until(() => told.length > 1);
    const mark = { [metaKeys.subscriptionId]: 7 };
    const message = { jsonrpc: '2.0', method: updated, params: { _meta: mark, uri } };
    assert.deepEqual(JSON.parse(told[1] ?? ''), message);
  });
});

describe('a server that does not read', () => {
  test('uses no memory of the hub for the notifications of a client', async () => {
    await using hub = await startHub([old]);
    const client = await join(hub);
    await client.call('echo', { secret: 'first' });
    const pid = Number((await client.call('pid')).text.split(' ')[0]);
    process.kill(pid, 'SIGSTOP');
    try {
      const padding = 'x'.repeat(4 * 1024 * 1024);
      const calls: Promise<string>[] = [];
      for (let number = 0; number < 40; number++)
        calls.push(
          begin(client, `full ${number}`, 'tools/call', { name: 'echo', arguments: { padding } }),
        );
      await Promise.race(calls);
      await client.notify('notifications/roots/list_changed', { padding });
      client.session.close('the client hung up');
      await Promise.all(calls);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });
});
