import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { startHub } from '#helpers/hub';
import { openAsked } from './asking.ts';
import { at, openModern, textOf } from './modern.ts';

const own = { name: 'asker', instance: 'session' } as const;

describe('a client with a session that has not initialized it', () => {
  test.for(['one', 'all'])(
    'gets answers to pings and is refused all other methods, at %s',
    async kind => {
      await using hub = await startHub([own]);
      const endpoint = kind === 'all' ? 'all' : hub.server('asker');
      const client = openAsked(hub, endpoint);
      const name = kind === 'all' ? 'asker_pid' : 'pid';
      for (const [method, params] of [
        ['tools/call', { name, arguments: {} }],
        ['tools/list', {}],
        ['logging/setLevel', { level: 'debug' }],
        ['vendor/method', {}],
      ] as const) {
        const { error } = await client.ask(method, params);
        assert.equal(at(error, 'code'), -32600, method);
        assert.match(String(at(error, 'message')), /Send "initialize" first/);
        assert.equal(at(error, 'data', 'code'), 'HUB_REQUEST_INVALID');
      }
      assert.deepEqual((await client.ask('ping'))['result'], {});
      assert.equal(hub.servers.instances.count(hub.server('asker')), 0);
      await client.initialize({});
      assert.equal(typeof (await client.call(name)), 'string');
      assert.equal(hub.servers.instances.count(hub.server('asker')), 1);
    },
  );

  test.for(['one', 'all'])(
    'may not send more information about itself than the hub stores, at %s',
    async kind => {
      await using hub = await startHub([own]);
      const client = openAsked(hub, kind === 'all' ? 'all' : hub.server('asker'));
      const icons = (length: number) => ({
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'a', version: '1', icons: [{ src: 'x'.repeat(length) }] },
      });
      const { error } = await client.ask('initialize', icons(32 * 1024));
      assert.match(String(at(error, 'message')), /at most 32768.*Leave icons out/);
      assert.ok((await client.ask('initialize', icons(30 * 1024)))['result']);
    },
  );

  test('gets answers to requests of the stateless revision', async () => {
    await using hub = await startHub([own]);
    const { result } = await openModern(hub, hub.server('asker')).call('pid');
    assert.match(textOf(result), /^\d+$/);
  });

  test('gets log messages of its session also if it asked by "server/discover" first', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openAsked(hub, 'all');
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    assert.ok((await client.ask('server/discover', { _meta }))['result']);
    await client.initialize({});
    await client.call('echo_log', { level: 'error', text: 'heard' });
    assert.deepEqual(
      client.told.map(({ method }) => method),
      ['notifications/message'],
    );
  });

  test('may send the next request before the response arrives', async () => {
    await using hub = await startHub([{ ...own, autoStart: false }]);
    const client = openAsked(hub, hub.server('asker'));
    const initialized = client.initialize({ sampling: {} });
    const declared = client.call('declared');
    const again = client.initialize({});
    assert.ok(isObject(at(await initialized, 'result')));
    assert.deepEqual(await declared, { sampling: {} }, 'it is an instance of its own');
    assert.match(JSON.stringify(await again), /initialized already/);
  });

  test('may retry if its server could not be started', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
    ]);
    const client = openAsked(hub, hub.server('broken'));
    for (let attempt = 0; attempt < 2; attempt++) {
      const { error } = await client.initialize({});
      assert.equal(at(error, 'data', 'code'), 'HUB_SERVER_FAILED');
    }
    const { error } = await client.ask('tools/list');
    assert.match(String(at(error, 'message')), /Send "initialize" first/);
  });
});

test('a request by POST for a method needs no session, and reaches the shared instance', async () => {
  await using hub = await startHub([own]);
  const response = await fetch(`${hub.url}/mcp/asker/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'pid', arguments: {} }),
  });
  const { result }: { result?: unknown } = Object(await response.json());
  const pid = hub.server('asker').running?.instance.about['pid'];
  assert.deepEqual(result, { content: [{ type: 'text', text: JSON.stringify(pid) }] });
  assert.equal(hub.servers.instances.count(hub.server('asker')), 0);
});

test('a POST of a request without a session is refused with what is missing', async () => {
  await using hub = await startHub([own]);
  const response = await fetch(`${hub.url}/mcp/asker`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /session/i);
});

test('a request over WebSocket before initialize is refused', async () => {
  await using hub = await startHub([own]);
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp/asker`, 'mcp');
  const answered = Promise.withResolvers<string>();
  socket.addEventListener('message', ({ data }) => answered.resolve(String(data)));
  socket.addEventListener('error', () => answered.reject(new Error('no connection')));
  socket.addEventListener('open', () =>
    socket.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid"}}'),
  );
  assert.match(await answered.promise, /Send \\"initialize\\" first/);
  socket.close();
});
