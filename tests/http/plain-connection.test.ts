import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { describe, test } from 'vitest';
import { until } from '#helpers/hub';
import { caller } from '#helpers/principal';
import type { HttpResponse } from '#transports';
import { createPlainPosts } from '../../hub/http/plain-posts.ts';

type Options = {
  readonly firstMs?: number;
  readonly idleMs?: number;
  readonly onTimedOut?: (socket: Socket) => void;
};

type Handle = (response: HttpResponse, body: string) => void;

/** Starts a server of plain connections. All their requests go to `handle`. */
async function start(handle: Handle, { onTimedOut, ...times }: Options = {}) {
  const handedOver: string[] = [];
  let silent = 0;
  const posts = createPlainPosts(
    { maxBodyBytes: 10_000, firstMs: 60_000, idleMs: 60_000, ...times },
    {
      clock: { now: () => Date.now() },
      streamable: { handle: (_, response, body) => handle(response, body.toString()) },
      unread: { added() {} },
      admission: {
        mayHold: () => true,
        admit: ({ headers }) => (headers.host === 'localhost' ? caller : undefined),
      },
      paths: {
        endpointOf: path => (path === '/mcp' ? 'all' : undefined),
        viewer: principal => principal,
      },
      handOver(socket, bytes) {
        handedOver.push(bytes.toString());
        socket.destroy();
      },
      timedOut(socket) {
        silent++;
        onTimedOut?.(socket);
        socket.destroy();
      },
    },
  );
  const server = createServer({ allowHalfOpen: true }, socket =>
    posts.take(socket, { kind: 'unchecked' }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const { port }: AddressInfo = address;
  return {
    handedOver,
    silent: () => silent,
    async open() {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      let text = '';
      let isOver = false;
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.on('close', () => (isOver = true)).on('error', () => {});
      await once(socket, 'connect');
      return { socket, text: () => text, over: () => isOver };
    },
    async [Symbol.asyncDispose]() {
      posts.endAll();
      server.close();
      await once(server, 'close');
    },
  };
}

const post = (body: string, ...more: readonly string[]) =>
  [
    'POST /mcp HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    ...more,
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');

const echo: Handle = (response, body) => {
  response.writeHead(200, { 'content-length': body.length }).end(Buffer.from(body));
};

const write = (socket: Socket, text: string) =>
  new Promise<void>(resolve => socket.write(text, () => resolve()));

describe('a plain connection', () => {
  test('without a request times out, and one without a further request is closed', async () => {
    await using plain = await start(echo, { firstMs: 50, idleMs: 50 });
    const silent = await plain.open();
    await until(() => silent.over());
    assert.equal(plain.silent(), 1);
    const spoken = await plain.open();
    await write(spoken.socket, post('{}'));
    await until(() => spoken.text().includes('{}'));
    await until(() => spoken.over());
    assert.equal(plain.silent(), 1);
    assert.match(spoken.text(), /\r\nKeep-Alive: timeout=0\r\n/);
  });

  test('that is lost as it times out does not affect others', async () => {
    let lost: unknown;
    await using plain = await start(echo, {
      firstMs: 50,
      onTimedOut(socket) {
        // The reset of the connection is reported in a later turn of the event loop.
        socket.write('too late');
        lost = socket.emit('error', new Error('write ECONNRESET'));
      },
    });
    const silent = await plain.open();
    await until(() => silent.over());
    assert.equal(lost, true);
  });

  test('has its full time again when its client has read a large response', async () => {
    const large = Buffer.alloc(8_000_000, 'x');
    await using plain = await start(
      response => {
        response.writeHead(200, { 'content-length': large.length }).end(large);
        assert.ok(response.writableLength > 0);
        response.setTimeout(100, () => response.destroy());
      },
      { idleMs: 300 },
    );
    const line = await plain.open();
    await write(line.socket, post('{}'));
    await until(() => line.text().length > large.length);
    const since = performance.now();
    await until(() => line.over());
    assert.ok(performance.now() - since > 1_000);
  });

  test('has its requests handled concurrently, and responses in their order', async () => {
    const pending = new Map<string, HttpResponse>();
    await using plain = await start((response, body) => void pending.set(body, response));
    const line = await plain.open();
    for (const body of ['1', '2', '3']) {
      await write(line.socket, post(body));
      await until(() => pending.has(body));
    }
    await write(line.socket, post('4').replace('POST', 'PUT'));
    const answer = (body: string) =>
      pending.get(body)?.writeHead(200, { 'content-length': 1 }).end(Buffer.from(body));
    answer('3');
    const second = pending.get('2');
    second?.writeHead(200, { 'content-type': 'text/event-stream' });
    second?.write('data: 2\n\n');
    assert.equal(second?.writableLength, 9);
    assert.equal(line.text(), '');
    answer('1');
    await until(() => line.text().includes('data: 2'));
    assert.ok(!line.text().includes('\r\n\r\n3'));
    assert.deepEqual(plain.handedOver, []);
    second?.end();
    await until(() => line.text().endsWith('\r\n\r\n3'));
    await until(() => plain.handedOver.length === 1);
    assert.match(plain.handedOver[0] ?? '', /^PUT .*4$/s);
  });

  test('continues with a call behind a large response that its client reads slowly', async () => {
    const large = Buffer.alloc(8_000_000, 'x');
    const pending = new Map<string, HttpResponse>();
    await using plain = await start((response, body) => void pending.set(body, response));
    const line = await plain.open();
    for (const body of ['1', '2']) {
      await write(line.socket, post(body));
      await until(() => pending.has(body));
    }
    line.socket.pause();
    const first = pending.get('1');
    first?.writeHead(200, { 'content-length': large.length }).end(large);
    assert.ok(first && first.writableLength > 0);
    first.setTimeout(50, () => first.destroy());
    await new Promise(resolve => setTimeout(resolve, 300));
    line.socket.resume();
    pending.get('2')?.writeHead(202).end();
    await until(() => line.text().includes('202 Accepted'));
  });

  test('is not idle while its request is handled, however long that takes', async () => {
    let pending: HttpResponse | undefined;
    await using plain = await start(response => (pending = response), { firstMs: 30, idleMs: 30 });
    const line = await plain.open();
    await write(line.socket, post('{}'));
    await until(() => pending !== undefined);
    await new Promise(resolve => setTimeout(resolve, 1_200));
    assert.ok(!line.over());
    pending?.writeHead(202).end();
    await until(() => line.text().endsWith('Content-Length: 0\r\n\r\n'));
    assert.match(line.text(), /^HTTP\/1\.1 202 Accepted\r\n/);
  });

  test('is handed over with all of its bytes if the rest of a request does not come', async () => {
    await using plain = await start(echo, { firstMs: 50 });
    const line = await plain.open();
    const half = post('{"a":1}').slice(0, -3);
    await write(line.socket, half);
    await until(() => plain.handedOver.length === 1);
    assert.deepEqual(plain.handedOver, [half]);
  });

  for (const [what, text] of [
    ['more than one request', post('{}') + post('{}')],
    ['another path', post('{}').replace('/mcp', '/health')],
    ['another host', post('{}').replace('localhost', 'evil.example')],
    ['a body that is too large', post(`"${'x'.repeat(10_000)}"`)],
    ['no body', post('')],
    ['a head that is large', post('{}', `x: ${'y'.repeat(9_000)}`)],
  ] as const)
    test(`is handed over with all of its bytes if it sends ${what}`, async () => {
      await using plain = await start(() => assert.fail('nothing is to be handled here'));
      const line = await plain.open();
      await write(line.socket, text);
      await until(() => plain.handedOver.length === 1);
      assert.deepEqual(plain.handedOver, [text]);
    });

  test('is checked by the guard again if a request differs from the one before', async () => {
    await using plain = await start(echo);
    const line = await plain.open();
    await write(line.socket, post('{}'));
    await until(() => line.text().includes('{}'));
    const foreign = post('[]').replace('localhost', 'evil.examp');
    await write(line.socket, foreign);
    await until(() => plain.handedOver.length === 1);
    assert.ok(!line.text().includes('[]'));
  });

  test('is read again only when its client has read the response', async () => {
    const large = Buffer.alloc(1_000_000, 'x');
    let handled = 0;
    await using plain = await start(response => {
      handled++;
      response.writeHead(200, { 'content-length': large.length }).end(large);
    });
    const line = await plain.open();
    line.socket.pause();
    const count = 60;
    let sent = 0;
    /**
     * Sends one more request after the previous one was handled. Returns false if the hub does not handle it in time.
     */
    const sendNext = async () => {
      await write(line.socket, post(String(++sent)));
      const since = performance.now();
      await until(() => handled === sent || performance.now() - since > 300);
      return handled === sent;
    };
    while (sent < count && (await sendNext()));
    assert.ok(sent < count, `${sent}`);
    assert.equal(handled, sent - 1);
    line.socket.resume();
    await until(() => handled === sent);
    await until(() => line.text().length > sent * large.length);
  });

  test('emits close to the handler when its client disconnects', async () => {
    let pending: HttpResponse | undefined;
    await using plain = await start(response => (pending = response));
    const line = await plain.open();
    await write(line.socket, post('{}'));
    await until(() => pending !== undefined);
    let closed = 0;
    pending?.on('close', () => closed++);
    line.socket.destroy();
    await until(() => closed === 1);
    assert.equal(pending?.destroyed, true);
    pending?.writeHead(200).end(Buffer.from('nobody'));
    assert.equal(closed, 1);
  });

  test('sends a stream in chunks, and serves a request after it', async () => {
    await using plain = await start((response, body) => {
      if (body === '{}') return echo(response, body);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      response.write('data: 1\n\n');
      response.write('');
      response.end(Buffer.from('data: ü\n\n'));
    });
    const line = await plain.open();
    await write(line.socket, post('[]'));
    await until(() => line.text().endsWith('\r\n0\r\n\r\n'));
    assert.match(
      line.text(),
      /Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\na\r\ndata: ü\n\n\r\n0\r\n\r\n$/,
    );
    await write(line.socket, post('{}'));
    await until(() => line.text().endsWith('{}'));
  });

  test('is dropped if its client does not read a stream, after the timeout was reported', async () => {
    let stalled = 0;
    await using plain = await start(response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.setTimeout(50, () => {
        stalled++;
        response.destroy();
      });
      response.write('data: 1\n\n');
    });
    const line = await plain.open();
    await write(line.socket, post('{}'));
    await until(() => line.over());
    assert.equal(stalled, 1);
  });

  test('refuses a header value with a line break', async () => {
    let thrown: unknown;
    await using plain = await start(response => {
      try {
        response.writeHead(200, { x: 'a\r\nb: c' });
      } catch (error) {
        thrown = error;
        response.destroy();
      }
    });
    const line = await plain.open();
    await write(line.socket, post('{}'));
    await until(() => line.over());
    assert.ok(thrown instanceof TypeError);
    assert.equal(line.text(), '');
  });
});
