import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { startHub, until } from '#helpers/hub';
import { type Response, call, openSession, posting, send } from './raw.ts';

const echo = [{ name: 'echo' }];
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const all = (hub: { readonly url: string }) => `${hub.url}/mcp`;

/** Counts the received messages with this method. The start of the servers may cause some of them. */
const countOf = (response: Response, method: string) =>
  response.events().filter(({ message }) => message?.['method'] === method).length;

describe('a POST', () => {
  test('opens a session with initialize, whose answer is JSON and names the session', async () => {
    await using hub = await startHub([]);
    const session = await openSession(all(hub));
    assert.match(session.id, /^[\x21-\x7e]+$/);
    assert.equal(hub.streamable.sessionCount, 1);
    const notified = await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.equal(notified.status, 202);
    assert.equal(await notified.body(), '');
    const answered = await session.post({ jsonrpc: '2.0', id: 9, result: {} });
    assert.equal(answered.status, 202, 'an answer of the client');
    const pong = await session.post(ping);
    assert.equal(pong.status, 200);
    assert.match(String(pong.headers['content-type']), /^application\/json/);
    assert.deepEqual(await pong.json(), { jsonrpc: '2.0', id: 1, result: {} });
  });

  test('is answered as an event stream if the server sends a notification first, primed for resuming', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    const response = await session.post(
      call('p', 'echo_progress', { steps: 2 }, { progressToken: 'tok' }),
    );
    assert.match(String(response.headers['content-type']), /^text\/event-stream/);
    assert.equal(response.headers['x-accel-buffering'], 'no');
    await response.body();
    const events = response.events();
    assert.deepEqual(
      events.map(({ message }) => message?.['method'] ?? message?.['id']),
      [undefined, 'notifications/progress', 'notifications/progress', 'p'],
    );
    assert.equal(new Set(events.map(({ id }) => id)).size, 4);
  });

  test('becomes a stream by a request of the server, whose answer is another POST', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(`${hub.url}/mcp/echo`, '2025-11-25', { roots: {} });
    const asked = await session.post(call('q', 'ask', { method: 'roots/list' }));
    assert.match(String(asked.headers['content-type']), /^text\/event-stream/);
    await until(() => asked.messages().length === 1);
    const [request] = asked.messages();
    assert.equal(request?.['method'], 'roots/list');
    const result = { roots: [{ uri: 'file:///project' }] };
    const answered = await session.post({ jsonrpc: '2.0', id: request?.['id'], result });
    assert.equal(answered.status, 202);
    assert.equal(await answered.body(), '');
    await asked.body();
    const [, answer] = asked.messages();
    assert.equal(answer?.['id'], 'q');
    assert.match(JSON.stringify(answer), /file:\/\/\/project/);
  });

  test('above the limit of concurrent ones is refused with 503, and accepted when others are answered', async () => {
    await using hub = await startHub(echo, { streamable: { maxPosts: 1 } });
    const session = await openSession(`${hub.url}/mcp/echo`);
    const first = session.post(call('first', 'slow', { ms: 1_000 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    const refused = await session.post(ping);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['retry-after'], '5');
    assert.match(await refused.body(), /"id":1,.*"HUB_SERVER_BUSY","retryable":true/);
    assert.equal((await first).status, 200);
    assert.equal((await session.post(ping)).status, 200);
  });

  test('of an older revision gets no event without data, which its client would not understand', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub), '2025-06-18');
    const response = await session.post(
      call('p', 'echo_progress', { steps: 1 }, { progressToken: 1 }),
    );
    await response.body();
    assert.ok(response.events().every(({ message }) => message !== undefined));
    assert.equal(response.events().length, 2);
  });

  test('is answered on a stream if the client accepts only that, and likewise in JSON', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    const streamed = await session.post(ping, { accept: 'text/event-stream' });
    await streamed.body();
    assert.equal(streamed.events().at(-1)?.message?.['id'], 1);
    const json = await session.post(
      call('p', 'echo_progress', { steps: 2 }, { progressToken: 'tok' }),
      { accept: 'application/json' },
    );
    assert.equal((await json.json())['id'], 'p');
    const standing = await session.get();
    await until(() => countOf(standing, 'notifications/progress') === 2);
    standing.cut();
  });

  test('accepts media types in any case', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    const accept = 'Application/JSON, Text/Event-Stream';
    const json = await session.post(ping, { accept, 'content-type': 'Application/JSON' });
    assert.equal(json.status, 200);
    const standing = await session.get({ accept: 'TEXT/*' });
    assert.equal(standing.status, 200);
    standing.cut();
  });

  test('of a long call becomes a stream, so that a lost connection does not lose the answer', async () => {
    const clock = createManualClock();
    await using hub = await startHub(echo, { clock });
    const session = await openSession(all(hub));
    const pending = session.post(call('long', 'echo_slow', { ms: 1_000 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    clock.advance(3_000);
    const response = await pending;
    await until(() => response.events().length === 1);
    const [primed] = response.events();
    response.cut();
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0);
    const resumed = await session.get({ 'last-event-id': primed?.id ?? '' });
    await resumed.body();
    assert.deepEqual(
      resumed.events().map(({ message }) => message?.['id']),
      ['long'],
    );
  });
});

describe('a resumed stream', () => {
  test('after a lost connection has the rest of the progress and the response exactly once', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    const response = await session.post(
      call('c', 'echo_progress', { steps: 20 }, { progressToken: 'tok' }),
    );
    await until(() => response.events().length >= 4);
    const seen = response.events().slice(0, 3);
    response.cut();
    const resumed = await session.get({ 'last-event-id': seen.at(-1)?.id ?? '' });
    assert.equal(resumed.status, 200);
    await resumed.body();
    const events = [...seen, ...resumed.events()];
    assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
    const steps = events.flatMap(({ message }) => {
      const params = JSON.parse(JSON.stringify(message?.['params'] ?? {}));
      return message?.['method'] === 'notifications/progress' ? [params.progress] : [];
    });
    assert.deepEqual(
      steps,
      Array.from({ length: 20 }, (_, at) => at + 1),
    );
    assert.equal(events.filter(({ message }) => message?.['id'] === 'c').length, 1);
    const again = await session.get({ 'last-event-id': events.at(-1)?.id ?? '' });
    assert.equal(await again.body(), '', 'all of it was seen');
  });

  test('from an unknown, dropped or invalid event id is refused with 400', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    for (const id of ['99-1', '0-5', 'nonsense', '1', '']) {
      const { status } = await session.get({ 'last-event-id': id });
      assert.equal(status, 400, id);
    }
    const first = await session.post(
      call('c', 'echo_progress', { steps: 1 }, { progressToken: 'tok' }),
    );
    await first.body();
    for (let finished = 0; finished < 16; finished++)
      await (
        await session.post(call('c', 'echo_progress', { steps: 1 }, { progressToken: 'tok' }))
      ).body();
    const evicted = await session.get({ 'last-event-id': first.events()[0]?.id ?? '' });
    assert.equal(evicted.status, 400);
    const { error } = await evicted.json();
    assert.match(JSON.stringify(error), /no longer stored/);
  });
});

describe('the storage for resuming', () => {
  const progress = call('c', 'echo_progress', { steps: 1 }, { progressToken: 'tok' });

  test('drops an ended stream after a minute', async () => {
    const clock = createManualClock();
    await using hub = await startHub(echo, { clock, streamable: { idleMs: 600_000 } });
    const session = await openSession(all(hub));
    const over = await session.post(progress);
    await over.body();
    const from = { 'last-event-id': over.events()[0]?.id ?? '' };
    clock.advance(59_000);
    const again = await session.get(from);
    await again.body();
    assert.equal(again.events().length, over.events().length - 1);
    clock.advance(3_000);
    assert.equal((await session.get(from)).status, 400);
    assert.equal(hub.streamable.sessionCount, 1);
  });

  test('is limited for all sessions together: the stream that ended first is dropped first', async () => {
    await using hub = await startHub(echo);
    const streaming = { accept: 'text/event-stream' };
    const ended = [];
    // 18 answers of 3.9 MB exceed 64 MiB; the answers of one session alone would all be kept.
    for (let opened = 0; opened < 3; opened++) {
      const session = await openSession(all(hub));
      for (let id = 0; id < 6; id++) {
        const response = await session.post(call(id, 'echo_bytes', { n: 3_900_000 }), streaming);
        await response.body();
        ended.push({ session, from: response.events()[0]?.id ?? '' });
      }
    }
    const statuses = [];
    for (const { session, from } of ended) {
      const resumed = await session.get({ 'last-event-id': from });
      await resumed.body();
      statuses.push(resumed.status);
    }
    assert.deepEqual(statuses, [400, ...Array.from({ length: 17 }, () => 200)]);
  });
});

describe('the GET stream', () => {
  test('has messages outside requests, including those from before it', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    await session.post(call(1, 'echo_relist'));
    await until(() => hub.server('echo').listing.tool.some(({ key }) => key === 'extra-1'));
    const stream = await session.get();
    assert.match(String(stream.headers['content-type']), /^text\/event-stream/);
    const method = 'notifications/tools/list_changed';
    await until(() => countOf(stream, method) >= 1);
    const before = countOf(stream, method);
    await session.post(call(2, 'echo_relist'));
    await until(() => countOf(stream, method) > before);
    stream.cut();
  });

  test('opened twice is replaced by the newer one; each message is sent on one of them', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(`${hub.url}/mcp/echo`);
    const older = await session.get();
    const newer = await session.get();
    await until(older.ended);
    await session.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/subscribe',
      params: { uri: 'echo://greeting' },
    });
    await session.post(call(2, 'touch', { uri: 'echo://greeting' }));
    await until(() => countOf(newer, 'notifications/resources/updated') === 1);
    assert.equal(countOf(older, 'notifications/resources/updated'), 0);
    newer.cut();
  });

  test('is kept open without traffic by comments', async () => {
    const clock = createManualClock();
    await using hub = await startHub([], { clock });
    const session = await openSession(all(hub));
    const stream = await session.get();
    clock.advance(16_000);
    stream.cut();
    assert.match(await stream.body(), /^retry: 5000\n\n(: keep-alive\n\n)*$/);
    assert.equal(hub.streamable.sessionCount, 1);
  });
});

describe('a session', () => {
  test('that is missing gets 400, and one that is unknown, ended or of another endpoint gets 404', async () => {
    await using hub = await startHub([{ name: 'echo' }, { name: 'other', file: 'echo.mjs' }]);
    const session = await openSession(all(hub));
    const missing = await send(all(hub), { method: 'POST', headers: posting, body: ping });
    assert.equal(missing.status, 400);
    assert.match(await missing.body(), /"id":1,.*Mcp-Session-Id is missing/);
    const wrong = { ...posting, 'mcp-session-id': 'made-up' };
    for (const method of ['POST', 'GET', 'DELETE'])
      assert.equal(
        (await send(all(hub), { method, headers: wrong, body: ping })).status,
        404,
        method,
      );
    const own = { ...posting, 'mcp-session-id': session.id };
    for (const path of ['/mcp/echo', '/mcp/other'])
      assert.equal(
        (await send(`${hub.url}${path}`, { method: 'POST', headers: own, body: ping })).status,
        404,
      );
    const ended = await session.end();
    assert.ok(ended.status === 200 || ended.status === 204);
    const { status, ...response } = await session.post(ping);
    assert.equal(status, 404);
    assert.deepEqual(JSON.parse(await response.body()), {
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32001,
        message: 'the session is unknown or over: initialize again',
        data: { code: 'HUB_REQUEST_INVALID' },
      },
    });
    assert.equal((await session.end()).status, 404);
    assert.equal(hub.streamable.sessionCount, 0);
  });

  test('is initialized once', async () => {
    await using hub = await startHub([]);
    const session = await openSession(all(hub));
    const again = await session.post({
      ...ping,
      id: 'again',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    });
    assert.equal(again.status, 400);
    assert.match(await again.body(), /"id":"again",.*-32600.*initialized already/);
  });

  test('is not created by an initialize that fails', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
    ]);
    const params = { protocolVersion: '2025-11-25', capabilities: {} };
    for (const [path, body] of [
      ['/mcp/broken', { ...ping, method: 'initialize', params }],
      ['/mcp', { ...ping, method: 'initialize', params: {} }],
    ] as const) {
      const response = await send(`${hub.url}${path}`, { method: 'POST', headers: posting, body });
      assert.equal(response.headers['mcp-session-id'], undefined);
      assert.ok((await response.json())['error']);
    }
    assert.equal(hub.streamable.sessionCount, 0);
    assert.equal(hub.router.sessionCount, 0);
  });

  test('that is idle expires; one with a stream or a call does not', async () => {
    const clock = createManualClock();
    await using hub = await startHub(echo, { clock, streamable: { idleMs: 60_000 } });
    const [idle, listening, calling] = [
      await openSession(all(hub)),
      await openSession(all(hub)),
      await openSession(all(hub)),
    ];
    const stream = await listening.get();
    const slow = calling.post(call(1, 'echo_slow', { ms: 300 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    clock.advance(59_000);
    assert.equal(hub.streamable.sessionCount, 3);
    clock.advance(3_000);
    assert.equal(hub.streamable.sessionCount, 2);
    assert.equal((await idle.post(ping)).status, 404);
    await (await slow).body();
    stream.cut();
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0);
    await listening.post(ping);
    clock.advance(50_000);
    assert.equal(hub.streamable.sessionCount, 2, 'the time runs from the end of the last use');
    clock.advance(12_000);
    assert.equal(hub.streamable.sessionCount, 0);
    assert.equal(hub.router.sessionCount, 0);
  });

  test('above the maximum replaces the one idle longest, or is refused if all are in use', async () => {
    const clock = createManualClock();
    await using hub = await startHub([], { clock, streamable: { maxSessions: 2 } });
    const first = await openSession(all(hub));
    clock.advance(10);
    const second = await openSession(all(hub));
    clock.advance(10);
    await first.post(ping);
    const third = await openSession(all(hub));
    assert.equal((await second.post(ping)).status, 404);
    const streams = [await first.get(), await third.get()];
    const refused = await send(all(hub), {
      method: 'POST',
      headers: posting,
      body: { ...ping, method: 'initialize', params: { protocolVersion: '2025-11-25' } },
    });
    assert.equal(refused.status, 503);
    assert.match(await refused.body(), /HUB_SESSIONS_FULL/);
    for (const stream of streams) stream.cut();
  });

  test("above its client's share replaces one of that client, unused ones first", async () => {
    const clock = createManualClock();
    await using hub = await startHub([], {
      clock,
      streamable: { maxSessions: 8, maxSessionsPerClient: 4 },
    });
    const first = await openSession(all(hub));
    await first.post(ping);
    const initialize = (name: string) =>
      send(all(hub), {
        method: 'POST',
        headers: posting,
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: '2025-11-25',
            capabilities: {},
            clientInfo: { name, version: '1' },
          },
        },
      });
    for (let count = 0; count < 20; count++) {
      clock.advance(10);
      assert.equal((await initialize('greedy')).status, 200);
    }
    assert.equal(hub.streamable.sessionCount, 5);
    // With a new name for each session, the client never exceeds the share of one client.
    for (let count = 0; count < 20; count++) {
      clock.advance(10);
      assert.equal((await initialize(`greedy-${count}`)).status, 200);
    }
    assert.equal(hub.streamable.sessionCount, 8);
    assert.equal((await first.post(ping)).status, 200);
  });

  test('that was opened and dropped 1,000 times leaves nothing once idle, no session and no timer', async () => {
    const clock = createManualClock();
    await using hub = await startHub([], { clock, streamable: { maxSessions: 2_000 } });
    for (let batch = 0; batch < 20; batch++)
      await Promise.all(Array.from({ length: 50 }, () => openSession(all(hub))));
    assert.equal(hub.streamable.sessionCount, 1_000);
    clock.advance(120_000);
    assert.equal(hub.streamable.sessionCount, 0);
    assert.equal(hub.router.sessionCount, 0);
    assert.equal(clock.waiting, 0);
  });
});

describe('a refused request', () => {
  test.each(['application/json', 'text/event-stream'])(
    'creates no session: an initialize without a revision gets no id, as %s',
    async accept => {
      await using hub = await startHub(echo);
      const refused = await send(all(hub), {
        method: 'POST',
        headers: { ...posting, accept },
        body: { ...ping, method: 'initialize', params: {} },
      });
      assert.match(await refused.body(), /must be a string/);
      assert.equal(refused.headers['mcp-session-id'], undefined);
      assert.equal(hub.streamable.sessionCount, 0);
    },
  );

  test('has the status and the code of the specification', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    type Row = readonly [string, string, Record<string, string>, number, number, id?: number];
    const rows: readonly Row[] = [
      ['broken JSON', '{"jsonrpc":', {}, 400, -32700],
      ['no JSON', 'hello', {}, 400, -32700],
      ['nothing', '', {}, 400, -32700],
      ['an empty batch', '[]', {}, 400, -32600],
      ['a number', '5', {}, 400, -32600],
      ['no version', '{"id":1,"method":"ping"}', {}, 400, -32600],
      ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', {}, 400, -32600],
      ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', {}, 400, -32600],
      ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', {}, 400, -32600],
      ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":1}', {}, 400, -32600],
      [
        'params that are a list',
        '{"jsonrpc":"2.0","id":1,"method":"x","params":[]}',
        {},
        400,
        -32600,
      ],
      ['a batch', `[${JSON.stringify(ping)}]`, {}, 400, -32600],
      [
        'an unknown revision',
        JSON.stringify(ping),
        { 'mcp-protocol-version': '1999-01-01' },
        400,
        -32000,
        1,
      ],
      ['an Accept of neither', JSON.stringify(ping), { accept: 'text/html' }, 406, -32000, 1],
      [
        'another Content-Type',
        JSON.stringify(ping),
        { 'content-type': 'text/plain' },
        415,
        -32000,
        1,
      ],
    ];
    for (const [what, body, headers, status, code, readable = null] of rows) {
      const response = await session.post(body, headers);
      const { error, id } = JSON.parse(await response.body());
      assert.deepEqual([response.status, error.code, id], [status, code, readable], what);
    }
    const compressed = await session.post(gzipSync(JSON.stringify(ping)), {
      'content-encoding': 'gzip',
    });
    assert.equal(compressed.status, 415);
    assert.match(
      await compressed.body(),
      /Content-Encoding is \\"gzip\\": send the body uncompressed/,
    );
    const noType = await send(all(hub), {
      method: 'POST',
      headers: { accept: '*/*', 'mcp-session-id': session.id },
      body: ping,
    });
    assert.equal(noType.status, 415);
    const put = await send(all(hub), { method: 'PUT', headers: posting, body: ping });
    assert.equal(put.status, 405);
    assert.equal(put.headers['allow'], 'GET, POST, DELETE');
    const html = await session.get({ accept: 'text/html' });
    assert.equal(html.status, 406);
    const unknownMethod = await session.post({ ...ping, method: 'no/such' });
    assert.equal(unknownMethod.status, 200);
    assert.match(await unknownMethod.body(), /-32601/);
    assert.equal(
      (await session.post(ping, { 'content-type': 'application/json; charset=utf-8' })).status,
      200,
    );
  });

  test('is not a batch in the revisions that have batches', async () => {
    await using hub = await startHub(echo);
    for (const version of ['2025-03-26', '2024-11-05']) {
      const session = await openSession(all(hub), version);
      const response = await session.post([
        ping,
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } },
        call('e', 'echo_echo', { text: 'x' }),
      ]);
      const answers = JSON.parse(await response.body());
      assert.deepEqual(
        answers.map(({ id }: { id: unknown }) => id),
        [1, 'e'],
      );
      const partly = await session.post([{ no: 'message' }, ping]);
      assert.deepEqual(
        JSON.parse(await partly.body()).map(({ id }: { id: unknown }) => id),
        [null, 1],
      );
      const quiet = await session.post([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
      assert.equal(quiet.status, 202);
      const initializing = await session.post([
        { ...ping, method: 'initialize', params: { protocolVersion: '2025-11-25' } },
      ]);
      assert.match(await initializing.body(), /initialized already/);
    }
    const today = await openSession(all(hub), '2025-06-18');
    assert.equal((await today.post([ping])).status, 400);
  });
});

describe('clients and the end', () => {
  test('a client that disconnects during a call does not affect others', async () => {
    await using hub = await startHub(echo);
    const [leaving, staying] = [await openSession(all(hub)), await openSession(all(hub))];
    const aborting = new AbortController();
    const lost = leaving
      .post(call(1, 'echo_slow', { ms: 1_000 }), {}, aborting.signal)
      .catch(() => {});
    const kept = staying.post(call(1, 'echo_slow', { ms: 1_050 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 2);
    aborting.abort();
    await lost;
    assert.match(await (await kept).body(), /slept 1050 ms/);
    assert.equal((await leaving.post(ping)).status, 200, 'its session goes on');
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0);
  });

  test('ending a session answers its calls and ends its streams', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    const stream = await session.get();
    const slow = session.post(call(1, 'echo_slow', { ms: 60_000 }), { accept: 'application/json' });
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    await session.end();
    assert.match(await (await slow).body(), /HUB_CALL_CANCELLED/);
    await until(stream.ended);
    assert.equal(hub.server('echo').running?.upstream.inFlight(), 0);
  });

  test('ending a session ends the streams of its calls without an answer, which the Python SDK no longer takes', async () => {
    const clock = createManualClock();
    await using hub = await startHub(echo, { clock });
    const session = await openSession(all(hub));
    const slow = session.post(call('s', 'echo_slow', { ms: 60_000 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    clock.advance(3_000);
    const streamed = await slow;
    assert.match(String(streamed.headers['content-type']), /^text\/event-stream/);
    await session.end();
    assert.doesNotMatch(await streamed.body(), /"id"/);
  });

  test.each(['ending the session', 'a cancellation'])(
    '%s begins streams for calls, because the Python SDK fails on JSON while it closes',
    async how => {
      await using hub = await startHub(echo);
      const session = await openSession(all(hub));
      const streamed = session.post(call(1, 'echo_slow', { ms: 60_000 }));
      const plain = session.post(call(2, 'echo_slow', { ms: 60_000 }), {
        accept: 'application/json',
      });
      await until(() => hub.server('echo').running?.upstream.inFlight() === 2);
      if (how === 'a cancellation')
        for (const requestId of [1, 2])
          await session.post({
            jsonrpc: '2.0',
            method: 'notifications/cancelled',
            params: { requestId },
          });
      else await session.end();
      const { headers } = await streamed;
      assert.match(String(headers['content-type']), /^text\/event-stream/);
      assert.match(String((await plain).headers['content-type']), /^application\/json/);
    },
  );

  test('draining lets a call finish, refuses new requests, and ends all sessions', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    const slow = session.post(call(1, 'echo_slow', { ms: 300 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    const drained = hub.streamable.drain(5_000);
    const refused = await session.post(ping);
    assert.equal(refused.status, 503);
    assert.match(await refused.body(), /"id":1,.*the hub is stopping/);
    assert.match(await (await slow).body(), /slept 300 ms/);
    await drained;
    assert.equal(hub.streamable.sessionCount, 0);
  });

  test('draining ends a call that takes too long with a response', async () => {
    await using hub = await startHub(echo);
    const session = await openSession(all(hub));
    const slow = session.post(call(1, 'echo_slow', { ms: 60_000 }));
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    await hub.streamable.drain(50);
    assert.match(await (await slow).body(), /HUB_CALL_CANCELLED/);
  });
});
