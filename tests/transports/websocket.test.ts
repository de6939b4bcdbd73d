import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, test } from 'vitest';
import { WebSocket } from 'ws';
import { createManualClock } from '#helpers/clock';
import { type TestHub, ownerHeaders, startHub, until } from '#helpers/hub';
import { metaKeys, modernVersion } from '#mcp';
import { type RawClient, talk } from '../contracts/client-transport.ts';
import { openWebSocket, upgradeStatus } from './raw-clients.ts';

const echo = [{ name: 'echo' }];

const initialize = (protocolVersion = '2025-11-25') => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
});

async function join(client: RawClient, protocolVersion?: string) {
  const talking = talk(client);
  await talking.ask('open', 'initialize', initialize(protocolVersion));
  return talking;
}

/** Resolves with the code and reason of the hub's close frame. */
async function closing(socket: WebSocket): Promise<string> {
  const [code, reason] = await once(socket, 'close');
  return `${code} ${String(reason)}`;
}

describe('a request for a WebSocket', () => {
  test('may offer the subprotocol, which is accepted, among others or none', async () => {
    await using hub = await startHub([]);
    for (const [offered, accepted] of [
      [['mcp'], 'mcp'],
      [['other', 'mcp'], 'mcp'],
      [[], ''],
    ] as const) {
      const client = await openWebSocket(hub, undefined, offered);
      assert.equal(client.socket.protocol, accepted);
      assert.equal(client.socket.extensions, '');
      client.close();
    }
  });

  test('may name any MCP endpoint, with a query that is ignored', async () => {
    await using hub = await startHub(echo, { start: false });
    assert.equal(await upgradeStatus(hub, '/mcp'), 101);
    assert.equal(await upgradeStatus(hub, '/mcp?client=mine'), 101);
    assert.equal(await upgradeStatus(hub, '/mcp/echo?client=mine'), 101);
    assert.equal(await upgradeStatus(hub, '/mcp/'), 101);
    assert.equal(await upgradeStatus(hub, '/mcp/echo/?client=mine'), 101);
    assert.equal(await upgradeStatus(hub, '/mcp/other'), 404);
    assert.equal(await upgradeStatus(hub, '/nowhere'), 404);
    assert.equal(await upgradeStatus(hub, '/servers'), 200);
    const key = { 'sec-websocket-key': 'too short' };
    assert.equal(await upgradeStatus(hub, '/mcp', key), 400);
  });

  test('is accepted from a client that offers HTTP/2, over HTTP/1.1', async () => {
    await using hub = await startHub(echo, { start: false });
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: initialize(),
    });
    const outgoing = request(`${hub.url}/mcp`, {
      method: 'POST',
      headers: {
        connection: 'Upgrade, HTTP2-Settings',
        upgrade: 'h2c',
        'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
        'content-type': 'application/json',
        'content-length': body.length,
      },
    });
    outgoing.end(body);
    const [response] = await once(outgoing, 'response');
    assert.equal(response.statusCode, 200);
    assert.ok(response.headers['mcp-session-id']);
    response.resume();
  });

  test('that breaks off, or whose client has disconnected, does not affect others', async () => {
    await using hub = await startHub(echo, { start: false });
    const { hostname, port } = new URL(hub.url);
    const head = [
      'GET /mcp HTTP/1.1',
      `host: ${hostname}`,
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      '\r\n',
    ].join('\r\n');
    for (let count = 0; count < 5; count++) {
      const socket = connect({ host: hostname, port: Number(port) });
      await once(socket, 'connect');
      const closed = once(socket, 'close');
      socket.write(count % 2 === 0 ? head : head.slice(0, 60), () => socket.resetAndDestroy());
      await closed;
    }
    const client = await join(await openWebSocket(hub));
    await until(() => hub.connections.size === 1);
    client.close();
  });

  test('above the bound of connections is closed with 1013', async () => {
    await using hub = await startHub([], { connections: { maxConnections: 1 } });
    const first = await openWebSocket(hub);
    const second = await openWebSocket(hub);
    assert.equal(
      await closing(second.socket),
      '1013 1 connections are open already. Close some, or try again later',
    );
    first.close();
    await until(() => hub.connections.size === 0);
    (await openWebSocket(hub)).close();
  });
});

test('a principal has its share of the connections, and others have the rest', async () => {
  const token = 'a-token-of-16-chars';
  await using hub = await startHub([], {
    http: { token },
    connections: { maxConnections: 3, maxPerPrincipal: 2 },
  });
  const openAs = async (headers: { readonly authorization: string }) => {
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp`, ['mcp'], { headers });
    await once(socket, 'open');
    return socket;
  };
  const caller = { authorization: `Bearer ${token}` };
  const own = [await openAs(caller), await openAs(caller)];
  const why = '1013 this client has 2 open connections, which is the most. Close some';
  assert.equal(await closing(await openAs(caller)), why);
  own.push(await openAs(ownerHeaders));
  assert.equal(
    await closing(await openAs(ownerHeaders)),
    '1013 3 connections are open already. Close some, or try again later',
  );
  for (const socket of own) socket.close();
});

describe('a WebSocket', () => {
  test('carries text only: a binary message closes it with 1003', async () => {
    await using hub = await startHub([]);
    const client = await openWebSocket(hub);
    client.socket.send(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'));
    assert.equal(await closing(client.socket), '1003 MCP messages are text');
    assert.equal(client.received.length, 0);
  });

  test('accepts messages up to the limit, in any frames', async () => {
    await using hub = await startHub(echo, { start: false, http: { maxBodyBytes: 1_000 } });
    const client = await openWebSocket(hub);
    const ping = (padding: number) =>
      `{"jsonrpc":"2.0","id":${padding},"method":"ping","params":{"_meta":{"x":"${'x'.repeat(padding)}"}}}`;
    const text = ping(500);
    client.socket.send(text.slice(0, 50), { fin: false });
    client.socket.send(text.slice(50), { fin: true });
    await talk(client).answer(500);
    client.send(ping(2_000));
    assert.match(await closing(client.socket), /^1009/);
    await until(() => hub.connections.size === 0);
  });

  test('accepts batches in the revisions that have them', async () => {
    await using hub = await startHub(echo, { start: false });
    const batch = [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/nothing' },
      { jsonrpc: '2.0', id: 'two', method: 'ping' },
      5,
    ];
    const raw = await openWebSocket(hub);
    const texts: string[] = [];
    raw.socket.removeAllListeners('message');
    raw.socket.on('message', (data: Buffer) => texts.push(data.toString()));
    raw.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize('2025-03-26') });
    await until(() => texts.length === 1);
    raw.send(batch);
    await until(() => texts.length === 2);
    const answers: { id: unknown; error?: { code: number } }[] = JSON.parse(texts[1] ?? '');
    assert.deepEqual(
      answers.map(({ id, error }) => [id, error?.code]),
      [
        [1, undefined],
        ['two', undefined],
        [null, -32600],
      ],
    );
    raw.close();

    const newer = await join(await openWebSocket(hub));
    newer.send(batch);
    assert.match(JSON.stringify(await newer.answer(null)), /no batches since 2025-06-18/);
    newer.close();
  });

  test('answers requests of the stateless revision among those of a session', async () => {
    await using hub = await startHub(echo);
    const client = await join(await openWebSocket(hub, 'echo'));
    const _meta = {
      [metaKeys.protocolVersion]: modernVersion,
      [metaKeys.clientCapabilities]: {},
    };
    const modern = await client.ask(1, 'tools/call', {
      name: 'echo',
      arguments: { text: 'hello' },
      _meta,
    });
    assert.match(JSON.stringify(modern), /"resultType":"complete"/);
    const legacy = await client.call(2, 'echo', { text: 'hello' });
    assert.doesNotMatch(JSON.stringify(legacy), /resultType/);
    client.close();
  });

  test('is kept while its client answers pings, and dropped when it does not', async () => {
    const clock = createManualClock();
    await using hub = await startHub([], { clock });
    const silent = await openWebSocket(hub);
    // A client that hangs: its socket receives data, but the client does not read.
    silent.socket.pause();
    const client = await openWebSocket(hub);
    const pings = record(client.socket);
    await until(() => hub.connections.size === 2);
    for (let minute = 1; hub.connections.size === 2 && minute < 20; minute++) {
      clock.advance(15_000);
      await until(() => pings() === minute);
      // The hub reads the pong before the ping request that follows it.
      await talk(client).ask(minute, 'ping');
    }
    assert.equal(hub.connections.size, 1);
    assert.ok(pings() >= 4);
    for (let minute = 0; minute < 10; minute++) {
      const before = pings();
      clock.advance(15_000);
      await until(() => pings() > before);
      await talk(client).ask(`later ${minute}`, 'ping');
    }
    assert.equal(hub.connections.size, 1);
    client.close();
    silent.socket.terminate();
  });

  test('whose client does not read is closed above the limit, and requests in flight are cancelled', async () => {
    const clock = createManualClock();
    await using hub = await startHub(echo, {
      clock,
      connections: { maxUnsentBytes: 1024 * 1024 },
    });
    const overfill = async (): Promise<WebSocket> => {
      const slow = await openSlow(hub);
      const client = await join(slow);
      for (let id = 1; id <= 20; id++)
        client.send({
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'bytes', arguments: { n: 1024 * 1024 } },
        });
      client.send({
        jsonrpc: '2.0',
        id: 'slow',
        method: 'tools/call',
        params: { name: 'slow', arguments: { ms: 60_000 } },
      });
      await until(() => hub.connections.size === 0);
      await until(() => hub.server('echo').running?.upstream.inFlight() === 0);
      assert.equal(hub.router.sessionCount, 0);
      return slow.socket;
    };
    const late = await overfill();
    const never = await overfill();
    const told = closing(late);
    late.resume();
    assert.match(await told, /^1013 the client does not read: \d+ bytes wait for it$/);
    const cut = closing(never);
    clock.advance(1_000);
    never.resume();
    assert.match(await cut, /^1006 /);
    const warnings = hub.logged.filter(({ level }) => level === 'warn');
    assert.deepEqual(
      warnings.map(({ message }) => message),
      ['a client is dropped', 'a client is dropped'],
    );
    assert.match(JSON.stringify(warnings[0]?.fields), /"unsentBytes":\d{6,},"inFlight":[1-9]/);
  });

  test('answers the latest ping of a client that reads no pongs, and drops earlier ones', async () => {
    await using hub = await startHub([]);
    const { socket } = await openWebSocket(hub);
    socket.pause();
    const sent = 200_000;
    const pad = 'x'.repeat(100);
    for (let count = 1; count < sent; count++) socket.ping(`${count} ${pad}`);
    await new Promise(resolve => socket.ping(`${sent} ${pad}`, undefined, resolve));
    let pongs = 0;
    let newest = '';
    socket.on('pong', data => {
      pongs++;
      newest = data.toString();
    });
    socket.resume();
    await until(() => newest === `${sent} ${pad}`);
    assert.ok(pongs < sent / 2, `${pongs} pongs`);
    socket.close();
  });

  test('ends with 1001 when the hub stops, without waiting for a silent client', async () => {
    const hub = await startHub([]);
    const polite = await openWebSocket(hub);
    const silent = await openWebSocket(hub);
    silent.socket.pause();
    const closed = closing(polite.socket);
    await hub[Symbol.asyncDispose]();
    assert.equal(await closed, '1001 the hub is stopping');
    silent.socket.terminate();
  });
});

/** Opens a client that stops reading after the answer to `initialize`. */
async function openSlow(hub: TestHub): Promise<RawClient & { readonly socket: WebSocket }> {
  const client = await openWebSocket(hub, 'echo');
  client.socket.once('message', () => client.socket.pause());
  return client;
}

function record(socket: WebSocket): () => number {
  let pings = 0;
  socket.on('ping', () => pings++);
  return () => pings;
}
