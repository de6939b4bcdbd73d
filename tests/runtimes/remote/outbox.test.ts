import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { metaKeys, modernVersion } from '#mcp';
import { type Outgoing, createOutbox } from '../../../hub/runtimes/remote/outbox.ts';
import { call } from '../../contracts/recorder.ts';

const modern = (id: number, method: string) =>
  call(id, method, { _meta: { [metaKeys.protocolVersion]: modernVersion } });
const cancel = (requestId: number) => call(undefined, 'notifications/cancelled', { requestId });
const answerTo = (id: number) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));

type Post = {
  readonly message: Outgoing;
  readonly signal: AbortSignal;
  readonly sent: () => void;
  /** Ends the HTTP exchange. */
  readonly end: () => void;
  readonly fail: (error: Error) => void;
};

/** Creates an outbox whose messages are posted to the test. */
function open(maxWaitingBytes = 1000) {
  const clock = createManualClock();
  const posts: Post[] = [];
  const failed: (readonly [string | undefined, unknown])[] = [];
  const outbox = createOutbox(
    { server: 'tested', maxWaitingBytes },
    {
      clock,
      post(message, signal, sent) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        posts.push({ message, signal, sent, end: resolve, fail: reject });
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        return promise;
      },
      failed: (message, error) => void failed.push([message.id, error]),
    },
  );
  return {
    find: (id: string) => outbox.find(id),
    answered: (id: string) => outbox.answered(id),
    clear: () => outbox.clear(),
    clock,
    posts,
    failed,
    put: (...messages: readonly Buffer[]) => messages.forEach(bytes => outbox.put(bytes)),
    posted: () => posts.map(({ message }) => message.method ?? message.kind),
    at: (index: number) => posts[index] ?? assert.fail(`there is no post ${index}`),
  };
}

const times = (count: number, make: (id: number) => Buffer) =>
  Array.from({ length: count }, (_, index) => make(index + 1));

describe('the handshake', () => {
  test('is followed by answers only, until its own response', () => {
    const { put, posted, answered } = open();
    put(call(0, 'initialize'), call(1, 'ping'), call(undefined, 'progress'), answerTo(9));
    assert.deepEqual(posted(), ['initialize', 'answer']);
    answered('0');
    assert.deepEqual(posted().slice(2), ['progress', 'ping']);
  });

  test('ends when it fails', async () => {
    const { put, posted, at, failed } = open();
    put(call(0, 'initialize'), call(1, 'ping'));
    at(0).fail(new Error('no'));
    await turn();
    assert.deepEqual(posted(), ['initialize', 'ping']);
    assert.equal(failed[0]?.[0], '0');
  });

  test('ends when its notification is accepted', async () => {
    const { put, posted, at } = open();
    put(call(undefined, 'notifications/initialized'), call(1, 'ping'));
    assert.deepEqual(posted(), ['notifications/initialized']);
    at(0).end();
    await turn();
    assert.deepEqual(posted().slice(1), ['ping']);
  });
});

describe('messages are sent', () => {
  test('one at a time if they are notifications', async () => {
    const { put, posts, at } = open();
    put(...times(3, () => call(undefined, 'a')));
    assert.equal(posts.length, 1);
    at(0).end();
    await turn();
    assert.equal(posts.length, 2);
  });

  test.each([
    ['requests', 64, (id: number) => call(id, 'tools/call')],
    ['subscriptions', 16, (id: number) => modern(id, 'subscriptions/listen')],
    ['answers', 16, answerTo],
  ])('up to a bound if they are %s', async (_, bound, make) => {
    const { put, posts, at } = open(100_000);
    put(...times(bound + 2, make));
    assert.equal(posts.length, bound);
    at(3).end();
    await turn();
    assert.equal(posts.length, bound + 1);
  });

  test('in separate queues, so that subscriptions do not block requests', () => {
    const { put, posted } = open(100_000);
    put(...times(20, id => modern(id, 'subscriptions/listen')), call(100, 'ping'));
    assert.equal(posted().at(-1), 'ping');
  });

  test('even if they are not JSON, as the server refuses them', () => {
    const { put, at } = open();
    put(Buffer.from('{'));
    const { kind, bytes, id } = at(0).message;
    assert.deepEqual([kind, String(bytes), id], ['notification', '{', undefined]);
  });
});

describe('queued bytes', () => {
  const message = call(1, 'ping');

  test('are bounded, but one message is always accepted', () => {
    const { put, at } = open(message.length + 1);
    put(Buffer.concat([message, Buffer.alloc(5000, ' ')]));
    assert.throws(() => put(message), {
      code: 'HUB_SERVER_BUSY',
      message: /^tested takes no more messages: 5\d\d\d bytes wait already/,
    });
    at(0).sent();
    at(0).sent();
    put(message);
    assert.throws(() => put(message), { code: 'HUB_SERVER_BUSY' });
  });

  test('are freed when an exchange ends that never sent them', async () => {
    const { put, at } = open(message.length);
    put(message);
    at(0).fail(new Error('no connection'));
    await turn();
    put(message);
    assert.throws(() => put(message), { code: 'HUB_SERVER_BUSY' });
  });

  test('are freed by a request that is cancelled in the queue', () => {
    const first = call(undefined, 'notifications/initialized');
    const { put, posted, at } = open(first.length + message.length);
    put(first, message, cancel(1));
    at(0).sent();
    // A message over the limit is accepted only if no other waits, so this shows that the bytes were given back.
    put(Buffer.concat([message, Buffer.alloc(5000, ' ')]));
    assert.deepEqual(posted(), ['notifications/initialized']);
  });
});

describe('a cancellation', () => {
  test('of a request in flight is sent to the server, and then ends the exchange', async () => {
    const { put, posted, at, clock, failed, find } = open();
    put(call(1, 'tools/call'), cancel(1));
    assert.deepEqual(posted(), ['tools/call', 'notifications/cancelled']);
    assert.equal(at(0).signal.aborted, false);
    at(1).end();
    await turn();
    clock.advance(0);
    await turn();
    assert.equal(at(0).signal.aborted, true);
    assert.equal(find('1'), undefined);
    assert.deepEqual(failed, [], 'nobody waits for the answer');
  });

  test('of a request of 2026-07-28 ends its exchange, without a message', async () => {
    const { put, posted, at, clock, failed } = open();
    put(modern(1, 'tools/call'), cancel(1));
    clock.advance(0);
    await turn();
    assert.deepEqual(posted(), ['tools/call']);
    assert.equal(at(0).signal.aborted, true);
    assert.deepEqual(failed, []);
  });

  test('of a queued request removes it, and that of an unknown one is dropped', async () => {
    const { put, posted, answered } = open();
    put(call(0, 'initialize'), call(1, 'ping'), modern(2, 'subscriptions/listen'));
    put(cancel(1), cancel(2), cancel(3));
    answered('0');
    await turn();
    assert.deepEqual(posted(), ['initialize']);
  });

  test('without an id is sent like any notification', () => {
    const { put, posted } = open();
    put(call(undefined, 'notifications/cancelled'));
    assert.deepEqual(posted(), ['notifications/cancelled']);
  });
});

describe('an exchange', () => {
  test('without a response ends after thirty seconds', async () => {
    const { put, at, clock, failed } = open();
    put(call(undefined, 'progress'));
    clock.advance(29_999);
    assert.equal(at(0).signal.aborted, false);
    clock.advance(1);
    await turn();
    assert.equal(at(0).signal.aborted, true);
    assert.equal(failed.length, 1);
  });

  test('of a request lasts until its response, and a second longer', async () => {
    const { put, at, clock, answered, failed } = open();
    put(call(1, 'tools/call'));
    clock.advance(3_600_000);
    assert.equal(at(0).signal.aborted, false);
    answered('1');
    clock.advance(999);
    assert.equal(at(0).signal.aborted, false);
    clock.advance(1);
    await turn();
    assert.equal(at(0).signal.aborted, true);
    assert.deepEqual(failed, [], 'it was answered');
    assert.equal(clock.waiting, 0);
  });

  test('that ended before its response is not awaited', async () => {
    const { put, at, clock, answered, find } = open();
    put(call(1, 'tools/call'));
    at(0).end();
    await turn();
    assert.ok(find('1'), 'over HTTP with SSE the answer comes later');
    answered('1');
    assert.equal(clock.waiting, 0);
  });

  test('that fails is reported once, with its message', async () => {
    const { put, at, failed, find } = open();
    const error = new Error('no');
    put(call(7, 'tools/call'));
    at(0).fail(error);
    await turn();
    assert.deepEqual(failed, [['7', error]]);
    assert.equal(find('7'), undefined);
  });
});

test('after a clear nothing is sent, exchanges are aborted, and no failure is reported', async () => {
  const { put, at, posts, clear, failed, find } = open();
  put(call(1, 'a'), call(undefined, 'b'), call(undefined, 'c'));
  clear();
  await turn();
  assert.deepEqual([at(0).signal.aborted, at(1).signal.aborted], [true, true]);
  assert.equal(posts.length, 2);
  assert.deepEqual(failed, []);
  assert.equal(find('1'), undefined);
});
