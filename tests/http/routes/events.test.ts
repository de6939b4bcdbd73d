import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { createEmitter } from '#core';
import { createManualClock } from '#helpers/clock';
import {
  createFollowing,
  hangUpOf,
  openEvents,
  wantsEvents,
} from '../../../hub/http/routes/events.ts';

/** Creates a reply whose client reads only while `reads` is true. */
function createReply({ reads = true } = {}) {
  let text = '';
  let waiting: (() => void) | undefined;
  const take = (chunk: Buffer | string, _encoding: BufferEncoding, done: () => void) => {
    text += chunk.toString();
    if (reads) done();
    else waiting = done;
  };
  const socket = Object.assign(new Socket(), { _write: take, _writev: undefined });
  const raw = new ServerResponse(Object.assign(new IncomingMessage(socket), { method: 'GET' }));
  raw.useChunkedEncodingByDefault = false; // Without chunks, so that the text contains the events unchanged.
  raw.assignSocket(socket);
  /** Returns the text that was sent. Flushes it first, as Node delays writes until the next tick. */
  function sent(): string {
    while (socket.writableCorked > 0) socket.uncork();
    return text;
  }
  return {
    raw,
    hijack() {},
    text: sent,
    /** Returns the events that were sent, without the HTTP head. */
    events: () =>
      Array.from(
        sent().matchAll(/^event: (.*)\ndata: (.*)\n\n/gm),
        ([, name, data]) => `${name} ${data}`,
      ),
    readOn() {
      reads = true;
      waiting?.();
    },
    /** Disconnects the client. */
    async cut() {
      socket.destroy();
      await once(raw, 'close');
    },
  };
}

test.each([
  ['text/event-stream', true],
  ['application/json, text/event-stream;q=0.5', true],
  ['application/json', false],
  ['x-text/event-stream', false],
  ['*/*', false],
  [undefined, false],
])('whether a client that accepts %j gets events: %s', (accept, expected) => {
  assert.equal(wantsEvents({ headers: { ...(accept !== undefined && { accept }) } }), expected);
});

describe('a stream of events', () => {
  test('begins with its head, and is kept alive by comments until it is disposed', () => {
    const clock = createManualClock();
    const reply = createReply();
    const events = openEvents(reply, clock);
    assert.match(reply.text(), /^HTTP\/1\.1 200 OK\r\ncontent-type: text\/event-stream\r\n/);
    assert.match(reply.text(), /cache-control: no-store\r\nx-accel-buffering: no\r\n/);
    clock.advance(15_000);
    clock.advance(15_000);
    assert.equal(reply.text().split(': alive\n\n').length - 1, 2);
    events[Symbol.dispose]();
    assert.deepEqual([clock.waiting, reply.raw.writableEnded], [0, true]);
  });

  test('drops events while more than a mebibyte is unread, but never the last one', () => {
    const reply = createReply({ reads: false });
    const events = openEvents(reply, createManualClock());
    events.send('big', { text: 'x'.repeat(2 ** 20) });
    events.send('dropped', {});
    events.send('last', {}, true);
    reply.readOn();
    assert.deepEqual(
      reply.events().map(event => event.split(' ')[0]),
      ['big', 'last'],
    );
    events.send('later', { a: 1 });
    assert.equal(reply.events().at(-1), 'later {"a":1}');
  });

  test('sends no event after its client has disconnected', async () => {
    const clock = createManualClock();
    const reply = createReply();
    const events = openEvents(reply, clock);
    await reply.cut();
    const before = reply.text();
    events.send('last', {}, true);
    clock.advance(15_000);
    assert.equal(reply.text(), before);
  });
});

describe('a stream of changes', () => {
  function start({ maxStreams = 2 } = {}) {
    const clock = createManualClock();
    const changed = createEmitter<void>();
    const over = createEmitter<void>();
    const follow = createFollowing(clock, { intervalMs: 250, maxStreams, full: 'too many' });
    let told = 0;
    return {
      clock,
      change: () => changed.fire(),
      finish: () => over.fire(),
      follow: (reply = createReply()) => {
        follow(reply, {
          listen: changed.event,
          until: over.event,
          tell: events => events.send('told', { number: ++told }),
        });
        return reply;
      },
    };
  }

  test('sends an event at once, and then one for all changes of an interval', () => {
    const { clock, change, follow } = start();
    const reply = follow();
    assert.equal(reply.events().length, 1);
    for (let at = 0; at < 10; at++) change();
    assert.equal(reply.events().length, 1);
    clock.advance(250);
    assert.equal(reply.events().length, 2);
    clock.advance(10_000);
    assert.equal(reply.events().length, 2, 'nothing has changed');
    change();
    clock.advance(249);
    assert.equal(reply.events().length, 2);
    clock.advance(1);
    assert.deepEqual(reply.events(), [
      'told {"number":1}',
      'told {"number":2}',
      'told {"number":3}',
    ]);
  });

  test.each([0, 1])('with %d changes to send, ends when the client disconnects', async changes => {
    const { clock, change, follow } = start();
    const reply = follow();
    for (let at = 0; at < changes; at++) change();
    await reply.cut();
    assert.equal(clock.waiting, 0);
    change();
    assert.equal(clock.waiting, 0, 'it still listens');
  });

  test('uses no slot and no timer if the client disconnected before', async () => {
    const { clock, change, follow } = start({ maxStreams: 1 });
    const gone = createReply();
    await gone.cut();
    follow(gone);
    change();
    assert.equal(clock.waiting, 0);
    assert.equal(follow().events().length, 1);
  });

  test('ends with its source', async () => {
    const { clock, follow, finish } = start();
    const reply = follow();
    finish();
    await once(reply.raw, 'close');
    assert.deepEqual([reply.raw.destroyed, clock.waiting], [true, 0]);
  });

  test.each([
    ['the next event', 250],
    ['the next comment', 15_000],
  ])('ends before %s if its client may no longer follow', async (_what, waitMs) => {
    const clock = createManualClock();
    const changed = createEmitter<void>();
    let isAllowed = true;
    const limits = { intervalMs: 250, maxStreams: 1, full: 'too many' };
    const follow = createFollowing(clock, limits, () => isAllowed);
    const reply = createReply();
    follow(reply, { listen: changed.event, tell: events => events.send('told', {}) });
    assert.deepEqual(reply.events(), ['told {}']);
    isAllowed = false;
    if (waitMs === 250) changed.fire();
    clock.advance(waitMs);
    await once(reply.raw, 'close');
    assert.deepEqual([reply.events(), clock.waiting], [['told {}'], 0]);
  });

  test('is refused above the maximum, until a client disconnects', async () => {
    const { follow } = start({ maxStreams: 2 });
    const first = follow();
    follow();
    const refused = createReply();
    assert.throws(() => follow(refused), { code: 'HUB_SUBSCRIPTIONS_FULL', message: 'too many' });
    assert.equal(refused.text(), '');
    await first.cut();
    follow();
    assert.throws(() => follow(), { code: 'HUB_SUBSCRIPTIONS_FULL' });
  });
});

describe('the signal of a request', () => {
  test('is aborted when the client disconnects before the answer is sent', async () => {
    const reply = createReply();
    const signal = hangUpOf(reply);
    await reply.cut();
    assert.equal(signal.aborted, true);
  });

  test('is aborted at once if the client disconnected before', async () => {
    const reply = createReply();
    await reply.cut();
    assert.equal(hangUpOf(reply).aborted, true);
  });

  test('is not aborted by the close of the connection after the answer', async () => {
    const reply = createReply();
    const signal = hangUpOf(reply);
    reply.raw.end('{}');
    await once(reply.raw, 'finish');
    await reply.cut();
    assert.equal(signal.aborted, false);
  });
});
