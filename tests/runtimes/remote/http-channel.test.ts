import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { HubError, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { type Answer, readMessage } from '#jsonrpc';
import { createHttpChannel } from '../../../hub/runtimes/remote/http-channel.ts';
import type { Outgoing, PostMessage } from '../../../hub/runtimes/remote/outbox.ts';
import { call, record } from '../../contracts/recorder.ts';

const message = (value: object) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...value }));

type Options = {
  readonly post?: PostMessage;
  readonly received?: (answer: Answer, request: Outgoing) => Answer;
};

function open({ post = () => new Promise(() => {}), received }: Options = {}) {
  const warnings: unknown[] = [];
  const link = createHttpChannel(
    { server: 'tested', maxLineBytes: 100, maxWaitingBytes: 10_000 },
    {
      clock: createManualClock(),
      log: { ...silent, warn: fields => void warnings.push(fields) },
      post,
      tellsWhose: true,
      ...(received && { received }),
    },
  );
  const read: typeof link.read = (...given) => link.read(...given);
  return { ...link, read, warnings };
}

/** Creates a response body that is an event stream, which the test writes. */
function streamOf() {
  const stream = new IncomingMessage(new Socket());
  return { stream, event: (data: string) => stream.push(`data: ${data}\n\n`) };
}

describe('messages before there is a listener', () => {
  test('are delivered in order, before later ones', () => {
    const { channel, receive } = open();
    receive(message({ method: 'a' }), '7');
    receive(Buffer.from('[{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","method":"c"}]'));
    const heard = record(channel);
    receive(message({ method: 'd' }));
    assert.deepEqual(
      heard.messages.map(one => (one.kind === 'notification' ? one.method : one.kind)),
      ['a', 'b', 'c', 'd'],
    );
    assert.deepEqual(heard.about, ['7', undefined, undefined, undefined]);
  });

  test('are bounded', () => {
    const { channel, receive } = open();
    for (let count = 0; count <= 10_000; count++) receive(message({ method: 'a' }));
    assert.equal(record(channel).messages.length, 10_000);
  });
});

describe('a message that cannot be delivered', () => {
  const refused = () => Promise.reject(new HubError('HUB_SERVER_BUSY', 'not now'));

  test('causes an error response if it is a request', async () => {
    const { channel, awaits } = open({ post: refused });
    const heard = record(channel);
    channel.send(call(7, 'tools/call'));
    await turn();
    assert.match(await heard.answer(7), /"message":"not now"/);
    assert.equal(awaits('7'), false);
  });

  test('is only logged if it is not a request', async () => {
    const { channel, warnings } = open({ post: refused });
    const heard = record(channel);
    channel.send(call(undefined, 'progress'));
    await turn();
    assert.deepEqual(warnings, [{ server: 'tested', method: 'progress', error: 'not now' }]);
    assert.deepEqual(heard.messages, []);
  });

  test('causes neither once the channel has closed', async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    const { channel, warnings } = open({ post: () => promise });
    const heard = record(channel);
    channel.send(call(7, 'tools/call'));
    channel.close('bye');
    reject(new Error('late'));
    await turn();
    assert.deepEqual([heard.messages, warnings], [[], []]);
  });
});

describe('a response', () => {
  test('may be replaced if its request is still open', () => {
    const instead = readMessage(message({ id: 7, result: 'instead' }));
    assert.ok(instead.kind === 'answer');
    const asked: (string | undefined)[] = [];
    const { channel, receive, awaits } = open({
      received(_, request) {
        asked.push(request.method);
        return instead;
      },
    });
    const heard = record(channel);
    channel.send(call(7, 'tools/list'));
    assert.equal(awaits('7'), true);
    receive(message({ id: 7, result: 'first' }));
    receive(message({ id: 8, result: 'unasked' }));
    assert.deepEqual(asked, ['tools/list']);
    assert.match(String(heard.messages[0]?.bytes), /instead/);
    assert.match(String(heard.messages[1]?.bytes), /unasked/);
    assert.equal(awaits('7'), false);
  });

  test('to initialize sets the revision, and no other does', () => {
    const { channel, receive, protocolVersion } = open();
    channel.send(call(0, 'initialize'));
    receive(message({ id: 1, result: { protocolVersion: 'other' } }));
    assert.equal(protocolVersion(), undefined);
    receive(message({ id: 0, result: { protocolVersion: '2025-06-18' } }));
    assert.equal(protocolVersion(), '2025-06-18');
  });

  test('is delivered before messages that wait for it', () => {
    const posted: (string | undefined)[] = [];
    const { channel, receive } = open({
      async post({ method }) {
        posted.push(method);
      },
    });
    channel.listen({
      message: () => channel.send(call(undefined, 'notifications/initialized')),
      oversized: () => assert.fail(),
      noise: assert.fail,
    });
    channel.send(call(0, 'initialize'));
    channel.send(call(1, 'ping'));
    receive(message({ id: 0, result: {} }));
    assert.deepEqual(posted, ['initialize', 'notifications/initialized']);
  });

  test('that is too large causes an error, and ends its request', () => {
    const { channel, oversizedAnswer, awaits } = open();
    const heard = record(channel);
    channel.send(call(7, 'tools/call'));
    oversizedAnswer('7', 1000);
    oversizedAnswer(undefined, 2000);
    assert.deepEqual(heard.oversized, [
      { id: '7', bytes: 1000 },
      { id: undefined, bytes: 2000 },
    ]);
    assert.equal(awaits('7'), false);
  });
});

test('other output is noise, cut to two thousand bytes', () => {
  const { channel, receive } = open();
  const heard = record(channel);
  receive(Buffer.from(`<html>${'x'.repeat(5000)}`));
  assert.deepEqual(
    heard.noise.map(text => text.length),
    [2000],
  );
});

describe('an event stream', () => {
  test('delivers its messages, and its events before that', async () => {
    const { channel, read } = open();
    const heard = record(channel);
    const { stream, event } = streamOf();
    const order: unknown[] = [];
    const over = read(stream, '7', {
      event: ({ type, data }) => order.push([type, data.length, heard.messages.length]),
      retry: delayMs => order.push(delayMs),
    });
    event('{"jsonrpc":"2.0","method":"a"}');
    stream.push('retry: 50\n\nevent: endpoint\ndata: /x\n\ndata:\n\n');
    stream.push(null);
    await over;
    assert.deepEqual(order, [['message', 30, 0], 50, ['endpoint', 2, 1], ['message', 0, 1]]);
    assert.deepEqual(heard.about, ['7']);
  });

  test('reports a message that is too large by its id', async () => {
    const { channel, read, awaits } = open();
    const heard = record(channel);
    channel.send(call(7, 'tools/call'));
    const { stream, event } = streamOf();
    const over = read(stream, '7', {});
    event(JSON.stringify({ jsonrpc: '2.0', id: 7, result: 'x'.repeat(500) }));
    stream.push(null);
    await over;
    assert.deepEqual(
      heard.oversized.map(({ id }) => id),
      ['7'],
    );
    assert.equal(awaits('7'), false);
  });

  test('is not read while the channel is paused, and again when it resumes or closes', async () => {
    for (const goOn of ['resume', 'close'] as const) {
      const { channel, read } = open();
      const heard = record(channel);
      const { stream, event } = streamOf();
      const over = read(stream, undefined, {});
      channel.pause?.();
      event('{"jsonrpc":"2.0","method":"a"}');
      await turn();
      event('{"jsonrpc":"2.0","method":"b"}');
      stream.push(null);
      await turn();
      assert.equal(heard.messages.length, 1, 'it was under way');
      if (goOn === 'resume') channel.resume?.();
      else channel.close('bye');
      await over;
      assert.equal(heard.messages.length, goOn === 'resume' ? 2 : 1);
    }
  });

  test('is paused within a chunk', async () => {
    const { channel, read } = open();
    const messages: string[] = [];
    channel.listen({
      message({ bytes }) {
        messages.push(bytes.toString());
        channel.pause?.();
      },
      oversized: () => assert.fail(),
      noise: () => assert.fail(),
    });
    const { stream } = streamOf();
    const over = read(stream, undefined, {});
    const event = 'data: {"jsonrpc":"2.0","method":"a"}\n\n';
    stream.push(event.repeat(1000));
    stream.push(null);
    await turn();
    const perPause = messages.length;
    assert.ok(perPause > 0 && perPause <= 4096 / event.length, `${perPause} messages`);
    while (messages.length < 1000) {
      channel.resume?.();
      await turn();
    }
    channel.resume?.();
    await over;
  });

  test('rejects if it breaks', async () => {
    const { read } = open();
    const { stream } = streamOf();
    const over = read(stream, undefined, {});
    stream.destroy(new Error('broken'));
    await assert.rejects(over, /broken/);
  });
});

describe('a channel', () => {
  test('closes once, with its first reason', async () => {
    const { channel, fail } = open();
    const error = new Error('lost');
    fail(error);
    channel.close('bye');
    fail(new Error('again'));
    assert.deepEqual(await channel.closed, { reason: 'lost', error });
    const polite = open().channel;
    polite.close('bye');
    assert.deepEqual(await polite.closed, { reason: 'bye' });
  });

  test('accepts and delivers nothing once it is closed, and aborts its requests', async () => {
    const signals: AbortSignal[] = [];
    const { channel, receive, fail } = open({
      post(_, signal) {
        signals.push(signal);
        return once(signal, 'abort').then(() => Promise.reject(new Error('aborted')));
      },
    });
    const heard = record(channel);
    channel.send(call(1, 'ping'));
    fail(new Error('lost'));
    assert.equal(signals[0]?.aborted, true);
    receive(message({ method: 'late' }));
    assert.throws(() => channel.send(call(2, 'ping')), {
      code: 'HUB_SERVER_DOWN',
      message: 'tested is not connected: lost',
    });
    await turn();
    assert.deepEqual(heard.messages, []);
  });
});
