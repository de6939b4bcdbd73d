import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { type Closed, type Receiver, createLineChannel, rawText } from '#jsonrpc';

/** Opens a channel over a recording sink, and records what its receiver gets. */
function open(options: { readonly maxLineBytes?: number; readonly maxWaitingBytes?: number } = {}) {
  const written: string[] = [];
  const heard: string[] = [];
  const sink = { waiting: 0, ended: 0, isRead: true };
  const line = createLineChannel(
    { server: 'files', maxLineBytes: 10_000, maxWaitingBytes: 100, ...options },
    {
      write: chunk => void written.push(chunk.toString()),
      waitingBytes: () => sink.waiting,
      end: () => void sink.ended++,
      pause: () => void (sink.isRead = false),
      resume: () => void (sink.isRead = true),
    },
  );
  const receiver: Receiver = {
    message: message => void heard.push(message.bytes.toString()),
    oversized: ({ id, bytes }) => void heard.push(`oversized ${id} ${bytes}`),
    noise: text => void heard.push(`noise ${text}`),
  };
  const push = (text: string) => line.push(Buffer.from(text));
  const ended = (closed: Closed) => line.ended(closed);
  return { channel: line.channel, push, ended, written, heard, sink, receiver };
}

const note = (name: string) => `{"jsonrpc":"2.0","method":"${name}"}`;
const send = (name: string) => Buffer.from(name);

describe('sending', () => {
  test('joins the messages of one turn into one write', async () => {
    const { channel, written } = open();
    for (const name of ['a', 'b', 'c']) channel.send(send(name));
    assert.deepEqual(written, []);
    await turn();
    assert.deepEqual(written, ['a\nb\nc\n']);
    channel.send(send('d'));
    await turn();
    await turn();
    assert.deepEqual(written, ['a\nb\nc\n', 'd\n']);
  });

  test('refuses messages above the limit of queued bytes, and accepts more once they are sent', async () => {
    const { channel, written, sink } = open({ maxWaitingBytes: 10 });
    channel.send(send('12345'));
    assert.throws(() => channel.send(send('12345')), {
      code: 'HUB_SERVER_BUSY',
      message: 'files does not read its input: 6 bytes wait already. Try again later',
      data: { server: 'files', retryable: true },
    });
    await turn();
    sink.waiting = 6;
    assert.throws(() => channel.send(send('12345')), { code: 'HUB_SERVER_BUSY' });
    sink.waiting = 0;
    channel.send(send('67890'));
    await turn();
    assert.deepEqual(written, ['12345\n', '67890\n']);
  });

  test('accepts a message above the limit while nothing is queued', async () => {
    const { channel, written } = open({ maxWaitingBytes: 3 });
    channel.send(send('123456789'));
    await turn();
    assert.deepEqual(written, ['123456789\n']);
  });
});

describe('receiving', () => {
  test('delivers messages, also of a batch, in order', () => {
    const { channel, push, heard, receiver } = open();
    channel.listen(receiver);
    push(`${note('a')}\r\n[${note('b')},${note('c')}]\n${note('d').slice(0, 9)}`);
    push(`${note('d').slice(9)}\n`);
    assert.deepEqual(heard, [`${note('a')} `, note('b'), note('c'), note('d')]);
  });

  test('keeps messages that arrive before there is a listener', () => {
    const { channel, push, heard, receiver } = open();
    push(`banner\n${note('a')}\n`);
    channel.listen(receiver);
    push(`${note('b')}\n`);
    assert.deepEqual(heard, ['noise banner', note('a'), note('b')]);
  });

  test('keeps no more than a thousand messages before there is a listener', () => {
    const { channel, push, heard, receiver } = open();
    for (let at = 0; at < 1500; at++) push(`${note('a')}\n`);
    channel.listen(receiver);
    assert.equal(heard.length, 1000);
  });

  test('reports other output as noise, shortened, and continues', () => {
    const { channel, push, heard, receiver } = open();
    channel.listen(receiver);
    push(`ready\n\n\r\n{"level":"info"}\n[1]\n${'x'.repeat(5000)}\n${note('a')}\n`);
    assert.deepEqual(heard, [
      'noise ready',
      'noise {"level":"info"}',
      'noise [1]',
      `noise ${'x'.repeat(2000)}`,
      note('a'),
    ]);
  });

  test('delivers a last message without a line break', () => {
    const { channel, push, ended, heard, receiver } = open();
    channel.listen(receiver);
    push(`${note('a')}\n${note('b')}`);
    ended({ reason: 'exited' });
    assert.deepEqual(heard, [note('a'), note('b')]);
  });

  test('reports an incomplete last line as noise, without its content', () => {
    const { channel, push, ended, heard, receiver } = open();
    channel.listen(receiver);
    push(`${note('a')}\n{"jsonrpc":"2.0","id":1,"res`);
    ended({ reason: 'exited' });
    assert.deepEqual(heard, [note('a'), 'noise 28 bytes of a line without an end']);
  });

  test('delivers requests and responses as spans of their line', () => {
    const { channel, push } = open();
    const ids: string[] = [];
    channel.listen({
      message: message => {
        if (message.kind !== 'notification' && message.id)
          ids.push(rawText(message.bytes, message.id));
      },
      oversized: () => assert.fail(),
      noise: () => assert.fail(),
    });
    push('{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"result":{},"jsonrpc":"2.0","id":"x"}\n');
    assert.deepEqual(ids, ['1', '"x"']);
  });
});

describe('a pause', () => {
  /** A channel that its receiver pauses at each message, until `isOver`. */
  function pausing() {
    const opened = open();
    const { channel, heard } = opened;
    const scene = { isOver: false };
    channel.listen({
      ...opened.receiver,
      message(message) {
        heard.push(message.bytes.toString());
        if (!scene.isOver) channel.pause?.();
      },
    });
    return { ...opened, scene };
  }
  const resume = ({ channel }: Pick<ReturnType<typeof open>, 'channel'>) => channel.resume?.();

  test('holds back the rest of the bytes that were read before it', () => {
    const opened = pausing();
    const { push, heard, sink, scene } = opened;
    push(`${note('a')}\n${note('b')}\n${note('c').slice(0, 9)}`);
    push(`${note('c').slice(9)}\n${note('d')}\n`);
    assert.deepEqual(heard, [note('a')]);
    resume(opened);
    assert.deepEqual(heard, [note('a'), note('b')]);
    assert.equal(sink.isRead, false, 'the second message paused it again');
    scene.isOver = true;
    resume(opened);
    assert.deepEqual(heard, [note('a'), note('b'), note('c'), note('d')]);
    assert.equal(sink.isRead, true);
    push(`${note('e')}\n`);
    assert.equal(heard.at(-1), note('e'));
  });

  test('loses nothing at the end of the stream', async () => {
    const { channel, push, ended, heard } = pausing();
    push(`${note('a')}\n${note('b')}\n`);
    push(`${note('c')}\n${note('d')}`);
    ended({ reason: 'exited' });
    assert.deepEqual(heard, [note('a'), note('b'), note('c'), note('d')]);
    assert.deepEqual(await channel.closed, { reason: 'exited' });
  });

  test('ends with the channel, which drops the rest', () => {
    const { channel, push, heard, sink } = pausing();
    push(`${note('a')}\n${note('b')}\n`);
    channel.close('stopped');
    push(`${note('c')}\n`);
    assert.deepEqual(heard, [note('a')]);
    assert.equal(sink.isRead, true);
  });
});

describe('a line above the limit', () => {
  const long = `{"text":"${'x'.repeat(20_000)}"}`;

  test.for([
    ['head', `{"jsonrpc":"2.0","id":7,"result":${long}}`, '7'],
    ['head, with spaces', `{ "jsonrpc": "2.0", "id": 7, "result": ${long}}`, '7'],
    ['head, first of all', `{"id":7,"jsonrpc":"2.0","result":${long}}`, '7'],
    ['head, negative', `{"jsonrpc":"2.0","id":-7,"result":${long}}`, '-7'],
    ['head, text', `{"jsonrpc":"2.0","id":"größe","result":${long}}`, '"größe"'],
    ['head, an error', `{"jsonrpc":"2.0","id":7,"error":${long}}`, '7'],
    ['tail', `{"result":${long},"jsonrpc":"2.0","id":7}`, '7'],
    ['tail, with spaces', `{ "result": ${long}, "jsonrpc": "2.0", "id": 7 } `, '7'],
    ['tail, after the version', `{"jsonrpc":"2.0","result":${long},"id":"a"}`, '"a"'],
  ] as const)('is reported with the id of the response, at its %s', ([, text, id]) => {
    const { channel, push, heard, receiver } = open();
    channel.listen(receiver);
    push(`${text}\n${note('after')}\n`);
    assert.deepEqual(heard, [`oversized ${id} ${Buffer.byteLength(text)}`, note('after')]);
  });

  test.for([
    ['a request', `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":${long}}`],
    ['a request', `{"method":"sampling/createMessage","params":${long},"jsonrpc":"2.0","id":7}`],
    ['a request', `{"jsonrpc":"2.0","method":"x","params":${long},"id":7}`],
    ['a notification', `{"jsonrpc":"2.0","method":"x","params":${long}}`],
    ['an id inside the result', `{"jsonrpc":"2.0","result":{"x":${long},"id":7}}`],
    ['an id of another form', `{"jsonrpc":"2.0","id":7.5,"result":${long}}`],
    ['text', 'x'.repeat(20_000)],
  ] as const)('has no id if it is %s', ([, text]) => {
    const { channel, push, heard, receiver } = open();
    channel.listen(receiver);
    push(`${text}\n`);
    assert.deepEqual(heard, [`oversized undefined ${text.length}`]);
  });
});

describe('the end of a channel', () => {
  test('settles once, with the first reason', async () => {
    const { channel, ended, sink } = open();
    channel.close('stopped by hand');
    channel.close('again');
    ended({ reason: 'exited', error: new Error('late') });
    assert.deepEqual(await channel.closed, { reason: 'stopped by hand' });
    assert.equal(sink.ended, 1);
  });

  test('has the error of the other end', async () => {
    const { channel, ended, sink } = open();
    const error = new Error('reset');
    ended({ reason: 'the connection broke', error });
    channel.close('stopped by hand');
    assert.deepEqual(await channel.closed, { reason: 'the connection broke', error });
    assert.equal(sink.ended, 0);
  });

  test('comes after queued messages are sent, if the channel was closed', async () => {
    const { channel, written } = open();
    channel.send(send('last'));
    channel.close('done');
    assert.deepEqual(written, ['last\n']);
    await turn();
    assert.deepEqual(written, ['last\n']);
  });

  test('refuses later messages, and drops queued ones if the other end is gone', async () => {
    const { channel, ended, written } = open();
    channel.send(send('lost'));
    ended({ reason: 'exited with 3' });
    assert.throws(() => channel.send(send('late')), {
      code: 'HUB_SERVER_DOWN',
      message: 'files is not connected: exited with 3',
      data: { server: 'files', retryable: true },
    });
    await turn();
    assert.deepEqual(written, []);
  });

  test('is followed by no message, even of the same chunk', () => {
    const { channel, push, heard, receiver } = open();
    channel.listen({
      ...receiver,
      message(message) {
        receiver.message(message);
        channel.close('enough');
      },
    });
    push(`${note('a')}\n${note('b')}\n`);
    push(`${note('c')}\n`);
    assert.deepEqual(heard, [note('a')]);
  });

  test('is preceded by earlier messages, also for a listener that comes later', () => {
    const { channel, push, ended, heard, receiver } = open();
    push(`${note('a')}\n`);
    ended({ reason: 'exited' });
    channel.listen(receiver);
    assert.deepEqual(heard, [note('a')]);
  });
});
