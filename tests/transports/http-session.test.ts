import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createReplayBudget } from '../../hub/transports/event-stream.ts';
import { createHttpSession } from '../../hub/transports/http-session.ts';
import { createRecordingResponse, createScriptedSession } from './scripted-session.ts';

function open(isResumed?: boolean, protocolVersion?: string) {
  const clock = createManualClock();
  const budget = createReplayBudget(1024 * 1024);
  const { session, closed } = createScriptedSession(protocolVersion);
  let say: (bytes: Buffer) => void = () => {};
  const http = createHttpSession(
    'id',
    'all',
    send => {
      say = send;
      return session;
    },
    { clock, budget },
    isResumed,
  );
  /** Opens a stream, and writes one event to it. */
  const openStream = () => {
    const stream = http.openStream();
    stream.write(Buffer.from('{}'));
    return stream;
  };
  return {
    http,
    session,
    clock,
    budget,
    closed,
    openStream,
    say: (text: string) => say(Buffer.from(text)),
  };
}

describe('streams that have ended', () => {
  test('are kept for a minute', () => {
    const { http, clock, budget, openStream } = open();
    const stream = openStream();
    http.finish(stream);
    clock.advance(60_000);
    http.expire();
    assert.equal(http.find(stream.id), stream);
    clock.advance(1);
    http.expire();
    assert.equal(http.find(stream.id), undefined);
    assert.equal(budget.keptBytes, 0);
  });

  test('are sixteen at most: the one that ended first is dropped first', () => {
    const { http, openStream } = open();
    const streams = Array.from({ length: 18 }, openStream).toReversed();
    for (const stream of streams) http.finish(stream);
    const found = streams.map(({ id }) => http.find(id) !== undefined);
    assert.deepEqual(found, [false, false, ...Array.from({ length: 16 }, () => true)]);
  });

  test('do not affect those that have not', () => {
    const { http, clock, openStream } = open();
    const stream = openStream();
    clock.advance(3_600_000);
    http.expire();
    assert.equal(http.find(stream.id), stream);
    assert.equal(http.find(0), http.standing);
  });
});

test('messages outside requests are sent on the standing stream', () => {
  const { http, say } = open();
  const { response, text } = createRecordingResponse();
  say('{"method":"a"}');
  http.standing.attach(response, undefined);
  say('{"method":"b"}');
  assert.equal(text(), 'id: 0-1\ndata: {"method":"a"}\n\nid: 0-2\ndata: {"method":"b"}\n\n');
});

test.for([
  ['2025-11-25', 'retry: 5000\n\n', ''],
  ['2025-06-18', '', 'event: retry\nretry: 5000\n\n'],
] as const)(
  'a client of %s is told when to reconnect its standing stream, as it opens: %j, or ends: %j',
  ([protocolVersion, opening, ending]) => {
    const { http } = open(false, protocolVersion);
    const { response, text } = createRecordingResponse();
    assert.equal(http.resume(response, undefined), true);
    assert.equal(text(), opening);
    http.close('over');
    assert.equal(text(), opening + ending);
  },
);

test('comments keep every open stream alive', () => {
  const { http, openStream } = open();
  const ended = openStream();
  const connections = [http.standing, openStream(), ended].map(stream => {
    const connection = createRecordingResponse();
    stream.attach(connection.response, undefined);
    return connection;
  });
  http.finish(ended);
  http.keepAlive();
  assert.deepEqual(
    connections.map(({ text }) => /^:.*\n\n$/m.test(text())),
    [true, true, false],
  );
});

describe('a session that is closed', () => {
  test('ends its standing stream, and keeps no events', () => {
    const { http, budget, closed, openStream, say } = open();
    const { response, isOver } = createRecordingResponse();
    http.standing.attach(response, undefined);
    const stream = openStream();
    say('{}');
    assert.ok(budget.keptBytes > 0);
    http.close('over');
    stream.write(Buffer.from('{"late":true}'));
    assert.deepEqual([closed, isOver(), budget.keptBytes], [['over'], true, 0]);
  });

  test('still sends a response on its connection', () => {
    const { http } = open();
    const { response, text, isOver } = createRecordingResponse();
    const stream = http.openStream();
    stream.attach(response, undefined);
    http.close('over');
    stream.write(Buffer.from('{"id":1}'));
    http.finish(stream);
    assert.match(text(), /^id: 1-1\ndata: \{"id":1\}$/m);
    assert.equal(isOver(), true);
  });

  test('opens streams that cannot be resumed', () => {
    const { http, budget, openStream } = open();
    http.close('over');
    const stream = openStream();
    assert.deepEqual([http.find(stream.id), budget.keptBytes], [undefined, 0]);
  });
});

test('streams and events of a resumed session have other numbers than those of the earlier run', () => {
  const { http, clock, say } = open(true);
  const { response, text } = createRecordingResponse();
  http.standing.attach(response, 7);
  say('{}');
  const start = clock.now();
  assert.equal(text(), `id: 0-${start + 1}\ndata: {}\n\n`);
  assert.equal(http.openStream().id, start + 1);
  assert.deepEqual([http.isUsed, open().http.isUsed], [true, false]);
});

test('a client that saw events of an earlier run, when the clock was ahead, gets unsent ones', () => {
  const { http, clock, say } = open(true);
  const seen = clock.now() + 3_600_000;
  say('{}');
  const { response, text } = createRecordingResponse();
  assert.equal(http.resume(response, { stream: 0, sequence: seen }), true);
  assert.equal(text(), `id: 0-${clock.now() + 1}\ndata: {}\n\nretry: 5000\n\n`);
  say('{"a":1}');
  const next = createRecordingResponse();
  assert.equal(http.resume(next.response, { stream: 0, sequence: clock.now() + 1 }), true);
  assert.equal(next.text(), `id: 0-${clock.now() + 2}\ndata: {"a":1}\n\nretry: 5000\n\n`);
});

test('an unknown event, or one of an unknown stream, is refused', () => {
  const { http, openStream } = open();
  const { response } = createRecordingResponse();
  const stream = openStream();
  for (const event of [
    { stream: 0, sequence: 1 },
    { stream: stream.id, sequence: 2 },
    { stream: 9, sequence: 1 },
  ])
    assert.equal(http.resume(response, event), false);
  const resumed = open(true);
  const { id } = resumed.openStream();
  assert.equal(resumed.http.resume(response, { stream: id, sequence: 2 }), false);
});
