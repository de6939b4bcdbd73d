import assert from 'node:assert/strict';
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { until } from '#helpers/hub';
import {
  type EventStream,
  createEventStream as create,
  createReplayBudget,
  parseEventId,
} from '../../hub/transports/event-stream.ts';

const bounds = { maxEvents: 5, maxBytes: 1_000, maxUnsentBytes: 1024 * 1024, stalledMs: 60_000 };

/** Creates a stream with a budget of its own. */
const createEventStream = (
  id: number,
  within: typeof bounds,
  headers: Readonly<Record<string, string>>,
) => create(id, within, createReplayBudget(1024 * 1024), headers);

/** Starts an HTTP server. `connect` sends a request and returns both ends of it. */
async function serve() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    async connect() {
      const client = request({ port, host: '127.0.0.1' });
      client.on('error', () => {});
      client.end();
      const [, response]: [IncomingMessage, ServerResponse] = await new Promise(resolve =>
        server.once('request', (incoming, outgoing) => resolve([incoming, outgoing])),
      );
      let text = '';
      let incoming: IncomingMessage | undefined;
      let ended = false;
      client.once('response', message => {
        incoming = message;
        message.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        message.on('close', () => (ended = true));
        message.on('error', () => (ended = true));
      });
      return {
        response,
        text: () => text,
        /** Returns the data of the events received so far, in order. */
        data: () => [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data),
        status: () => incoming?.statusCode,
        ended: () => ended,
        pause: () => incoming?.pause(),
        started: () => until(() => incoming !== undefined),
        cut: () => client.destroy(),
      };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const bytes = (text: string) => Buffer.from(text);

describe('an event stream', () => {
  test('numbers its events, and ends its connection when it ends', async () => {
    await using http = await serve();
    const end = await http.connect();
    const stream = createEventStream(3, bounds, { 'mcp-session-id': 's' });
    stream.attach(end.response, undefined);
    stream.prime();
    stream.write(bytes('{"a":1}'));
    stream.end();
    await until(end.ended);
    assert.equal(end.text(), 'id: 3-1\nretry: 5000\ndata: \n\nid: 3-2\ndata: {"a":1}\n\n');
  });

  test('delivers unsent events to the first connection, and the rest to the one that resumes', async () => {
    await using http = await serve();
    const stream = createEventStream(0, bounds, {});
    stream.write(bytes('1'));
    const first = await http.connect();
    assert.equal(stream.attach(first.response, undefined), true);
    stream.write(bytes('2'));
    await until(() => first.data().length === 2);
    first.cut();
    await until(() => !stream.attached);
    stream.write(bytes('3'));
    stream.write(bytes('4'));
    const second = await http.connect();
    assert.equal(stream.attach(second.response, 1), true);
    await until(() => second.data().length === 3);
    assert.deepEqual(second.data(), ['2', '3', '4'], 'it only saw the first');
  });

  test('continues with unsent events if a client saw the last one of an earlier run', async () => {
    await using http = await serve();
    const stream = create(0, bounds, createReplayBudget(1024), {}, 1_000);
    stream.write(bytes('1'));
    const end = await http.connect();
    assert.equal(stream.attach(end.response, 17), true);
    await until(() => end.data().length === 1);
    assert.equal(end.text(), 'id: 0-1001\ndata: 1\n\n');
    assert.equal(stream.attach(end.response, 1_002), false, 'that never was');
  });

  test('refuses to resume from an event that was dropped or never existed', async () => {
    await using http = await serve();
    const stream = createEventStream(0, bounds, {});
    for (let event = 1; event <= 8; event++) stream.write(bytes(`${event}`));
    const { response } = await http.connect();
    assert.equal(stream.attach(response, 1), false);
    assert.equal(stream.attach(response, 9), false);
    const end = await http.connect();
    assert.equal(stream.attach(end.response, 3), true);
    await until(() => end.data().length === 5);
    assert.deepEqual(end.data(), ['4', '5', '6', '7', '8']);
  });

  test('gives what is kept to a client that names no event, however much was lost', async () => {
    await using http = await serve();
    const stream = createEventStream(0, bounds, {});
    for (let event = 1; event <= 100; event++) stream.write(bytes(`${event}`));
    const end = await http.connect();
    assert.equal(stream.attach(end.response, undefined), true);
    await until(() => end.data().length === 5);
    assert.deepEqual(end.data(), ['96', '97', '98', '99', '100']);
  });

  test('stays within its limit of bytes; a message above it is sent but not stored', async () => {
    await using http = await serve();
    const stream = createEventStream(0, bounds, {});
    const first = await http.connect();
    stream.attach(first.response, undefined);
    const large = 'x'.repeat(5_000);
    stream.write(bytes(large));
    await until(() => first.data()[0] === large);
    const { response } = await http.connect();
    assert.equal(stream.attach(response, 0), false);
  });

  test('ends the older of two connections, and can be resumed after its own end', async () => {
    await using http = await serve();
    const stream = createEventStream(0, bounds, {});
    const [first, second] = [await http.connect(), await http.connect()];
    stream.attach(first.response, undefined);
    stream.attach(second.response, undefined);
    await until(first.ended);
    stream.write(bytes('news'));
    await until(() => second.data().length === 1);
    assert.deepEqual(first.data(), []);
    stream.end();
    await until(second.ended);
    const late = await http.connect();
    assert.equal(stream.attach(late.response, 0), true);
    await until(late.ended);
    assert.deepEqual(late.data(), ['news']);
  });

  test('drops a connection that does not read, and stores no more than its limit for it', async () => {
    await using http = await serve();
    const stream = createEventStream(0, bounds, {});
    const end = await http.connect();
    stream.attach(end.response, undefined);
    await end.started();
    end.pause();
    const chunk = bytes('x'.repeat(256 * 1024));
    let written = 0;
    for (; stream.attached && written < 500; written++) {
      stream.write(chunk);
      await new Promise(resolve => setImmediate(resolve));
    }
    assert.equal(stream.attached, false);
    assert.ok(written < 200, `${written} chunks were buffered`);
  });
});

describe('a connection', () => {
  const short = { ...bounds, maxUnsentBytes: 64 * 1024 * 1024, stalledMs: 400 };

  test('without any progress is dropped, even if only comments are sent', async () => {
    await using http = await serve();
    const stream = createEventStream(0, short, {});
    const end = await http.connect();
    stream.attach(end.response, undefined);
    await end.started();
    end.pause();
    stream.write(bytes('x'.repeat(16 * 1024 * 1024)));
    await until(() => {
      stream.keepAlive();
      return !stream.attached;
    });
  });

  test('that reads stays open, however long there are only comments', async () => {
    await using http = await serve();
    const stream = createEventStream(0, short, {});
    const end = await http.connect();
    stream.attach(end.response, undefined);
    await end.started();
    let comments = 0;
    const timer = setInterval(() => {
      stream.keepAlive();
      comments++;
    }, 100);
    await until(() => comments === 12);
    clearInterval(timer);
    assert.equal(stream.attached, true);
    stream.write(bytes('news'));
    await until(() => end.data().length === 1);
  });
});

describe('streams that share a budget', () => {
  /** Event of 500 bytes. It costs 1,012 bytes with the overhead of keeping it, so three fit into the budget. */
  const event = (digit: number) => bytes(String(digit).repeat(500 - 'id: 1-1\ndata: \n\n'.length));
  const within = { ...bounds, maxBytes: 100_000 };

  /**
   * Returns the events that a client receives when it resumes a stream from its start; none if a part of them is lost.
   */
  async function replayed(http: Awaited<ReturnType<typeof serve>>, stream: EventStream) {
    const end = await http.connect();
    const whole = stream.attach(end.response, 0);
    if (whole) await end.started();
    stream.end();
    if (whole) await until(end.ended);
    end.cut();
    return end.data().map(data => data?.[0]);
  }

  test('give up what ended first, then what has no connection, then the rest', async () => {
    await using http = await serve();
    const budget = createReplayBudget(3_100);
    const [attached, detached, ended, endedLater] = [1, 2, 3, 4].map(id =>
      create(id, within, budget, {}),
    );
    assert.ok(attached && detached && ended && endedLater);
    const { response } = await http.connect();
    attached.attach(response, undefined);
    attached.write(event(1));
    detached.write(event(2));
    ended.write(event(3));
    ended.end();
    assert.equal(budget.keptBytes, 3 * 1_012);
    endedLater.write(event(4));
    endedLater.end();
    assert.equal(budget.keptBytes, 3 * 1_012);
    assert.deepEqual(await replayed(http, ended), [], 'it ended first');
    attached.write(event(5));
    assert.deepEqual(await replayed(http, endedLater), [], 'it ended later');
    attached.write(event(6));
    assert.deepEqual(await replayed(http, detached), [], 'it had no connection');
    attached.write(event(7));
    assert.equal(budget.keptBytes, 3 * 1_012);
    assert.deepEqual(await replayed(http, attached), [], 'its first is gone');
  });

  test('store nothing once discarded, and later messages are sent', async () => {
    await using http = await serve();
    const budget = createReplayBudget(10_000);
    const stream = create(1, within, budget, {});
    const end = await http.connect();
    stream.attach(end.response, undefined);
    stream.write(event(1));
    stream.discard();
    assert.equal(budget.keptBytes, 0);
    stream.write(event(2));
    stream.end();
    await until(end.ended);
    assert.deepEqual(
      end.data().map(data => data?.[0]),
      ['1', '2'],
    );
    assert.equal(budget.keptBytes, 0);
  });

  test('cost the same whatever their number is', () => {
    const budget = createReplayBudget(2_000 * 600);
    const streams = Array.from({ length: 20_000 }, (_, id) => create(id, within, budget, {}));
    const start = performance.now();
    for (const stream of streams) stream.write(bytes('x'));
    for (const stream of streams) stream.end();
    for (const stream of streams) stream.discard();
    assert.equal(budget.keptBytes, 0);
    const tookMs = performance.now() - start;
    assert.ok(tookMs < 2_000, `${tookMs} ms`);
  });
});

test('event ids are parsed as they are written, and nothing else is', () => {
  assert.deepEqual(parseEventId('12-34'), { stream: 12, sequence: 34 });
  for (const text of ['', '1', '-1', '1-', '1-2-3', 'a-b', '1-2 ', ' 1-2', '1.5-2', '1'.repeat(20)])
    assert.equal(parseEventId(text), undefined, text);
});
