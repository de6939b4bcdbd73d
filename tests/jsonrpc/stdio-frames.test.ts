import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { openFrames } from '#jsonrpc';

/** Creates an output that is read when the test allows it. */
function heldOutput() {
  const written: string[] = [];
  const releases: (() => void)[] = [];
  const output = new Writable({
    write(chunk, _encoding, taken) {
      written.push(String(chunk));
      releases.push(taken);
    },
  });
  return { output, written, release: () => releases.shift()?.() };
}

function open(output: Writable = new PassThrough(), maxMessageBytes = 100) {
  const input = new PassThrough();
  const clock = createManualClock();
  const messages: string[] = [];
  const ends: (readonly [string, boolean])[] = [];
  const frames = openFrames(
    { input, output },
    { maxMessageBytes },
    {
      message: bytes => messages.push(bytes.toString()),
      ended: ({ reason, reads }) => ends.push([reason, reads]),
    },
    clock,
  );
  return { input, output, clock, messages, ends, frames };
}

/** Waits until the streams have passed on their data. */
const settle = () => new Promise(resolve => setImmediate(resolve));
function readFrom(output: Writable): string {
  assert.ok(output instanceof PassThrough);
  let text = '';
  // A read returns one chunk or all of them, depending on the version of Node.
  while (output.readableLength > 0) text += String(output.read());
  return text;
}

describe('messages of the client', () => {
  test('are read from the first read on, and no longer after the end', async () => {
    const { input, frames, messages, ends } = open();
    input.write('{"a":1}\n');
    await settle();
    assert.deepEqual(messages, []);
    frames.read();
    input.write('{"b":2}\n{"c"');
    input.end(':3}\n');
    await settle();
    assert.deepEqual(messages, ['{"a":1}', '{"b":2}', '{"c":3}']);
    assert.deepEqual(ends, [['the client closed its end', true]]);
  });

  test('are also read from a last line without a line break, before the end is reported', async () => {
    const { input, frames, messages, ends } = open();
    frames.read();
    input.end('{"a":1}\n{"b":2}');
    await settle();
    assert.deepEqual(messages, ['{"a":1}', '{"b":2}']);
    assert.equal(ends.length, 1);
  });

  test('are not read from a message that is shorter than its header says', async () => {
    const { input, frames, messages } = open();
    frames.read();
    input.end('Content-Length: 3\r\n\r\n{}');
    await settle();
    assert.deepEqual(messages, []);
  });

  test.for([
    [`{"jsonrpc":"2.0","id":7,"method":"${'x'.repeat(100)}"}`, '7'],
    [`{"jsonrpc":"2.0","method":"${'x'.repeat(100)}","id":"last"}`, '"last"'],
    [`{"jsonrpc":"2.0","method":"${'x'.repeat(100)}"}`, 'null'],
  ] as const)('that are too long get an error with their id: %#', async ([text, id]) => {
    const { input, output, frames, messages } = open();
    frames.read();
    input.write(`${text}\n{"b":2}\n`);
    await settle();
    const answer = readFrom(output);
    assert.ok(answer.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32007,`), answer);
    assert.match(answer, new RegExp(`a message of ${text.length} bytes .*: 100"`));
    assert.deepEqual(messages, ['{"b":2}']);
  });

  test('that are too long responses become errors for the server that waits', async () => {
    const { input, output, frames, messages } = open();
    frames.read();
    input.write(`{"jsonrpc":"2.0","id":7,"result":"${'x'.repeat(100)}"}\n`);
    await settle();
    assert.equal(readFrom(output), '');
    assert.match(messages[0] ?? '', /^\{"jsonrpc":"2\.0","id":7,"error":.*HUB_BODY_TOO_LARGE/);
  });

  test('with broken headers get an error, and nothing after them is read', async () => {
    const { input, output, frames, messages, ends } = open();
    frames.read();
    input.write('Content-Length: x\r\n\r\n{}');
    input.write('{"b":2}\n');
    await settle();
    assert.match(
      readFrom(output),
      /"id":null,"error":\{"code":-32700,.*nothing after it can be read/,
    );
    assert.equal(ends.length, 1);
    assert.equal(ends[0]?.[1], true);
    assert.deepEqual(messages, []);
    input.end();
    await settle();
    assert.equal(ends.length, 1);
  });
});

describe('the end of the client', () => {
  test.for([
    ['its output closes', true, 'the client closed its end'],
    ['it reads no more', false, 'the client no longer reads'],
  ] as const)('is reported once when %s', async ([, isInput, reason]) => {
    const { input, output, ends } = open();
    const stream = isInput ? input : output;
    stream.on('error', () => {});
    stream.destroy(new Error('EPIPE'));
    await settle();
    input.destroy();
    output.destroy();
    await settle();
    assert.deepEqual(ends, [[reason, isInput]]);
  });
});

test('a client that stops reading is no longer read from', async () => {
  const { input, output, frames, messages } = open();
  frames.read();
  output.destroy();
  await settle();
  input.write('{"late":1}\n');
  await settle();
  assert.deepEqual(messages, []);
});

describe('messages to the client', () => {
  test('use the framing of the client, in one write', async () => {
    const { input, output, frames } = open();
    frames.read();
    input.write('Content-Length: 2\r\n\r\n{}');
    await settle();
    frames.write([Buffer.from('{"a":1}'), Buffer.from('{}')]);
    assert.equal(readFrom(output), 'Content-Length: 7\r\n\r\n{"a":1}Content-Length: 2\r\n\r\n{}');
  });

  test('are dropped once the client stops reading', async () => {
    const { output, frames, ends } = open();
    output.destroy();
    frames.write([Buffer.from('{}')]);
    await settle();
    assert.equal(ends.length, 1);
    assert.equal(frames.unsentBytes(), 0);
  });
});

describe('a close of the frames', () => {
  test('waits until the client has read all, and accepts no message meanwhile', async () => {
    const held = heldOutput();
    const { input, frames, messages, clock } = open(held.output);
    frames.read();
    frames.write([Buffer.from('{"a":1}')]);
    assert.ok(frames.unsentBytes() > 0);
    let isClosed = false;
    const closed = frames.close().then(() => (isClosed = true));
    input.write('{"late":1}\n');
    await settle();
    assert.deepEqual([isClosed, messages], [false, []]);
    while (!isClosed) {
      held.release();
      await settle();
    }
    await closed;
    assert.equal(held.written.join(''), '{"a":1}\n');
    assert.equal(clock.waiting, 0);
  });

  test('waits one second for a client that does not read', async () => {
    const { frames, clock } = open(heldOutput().output);
    frames.write([Buffer.from('{"a":1}')]);
    let isClosed = false;
    const closed = frames.close().then(() => (isClosed = true));
    clock.advance(999);
    await settle();
    assert.equal(isClosed, false);
    clock.advance(1);
    await closed;
  });

  test('does not wait if nothing is queued, or the client stopped reading', async () => {
    const idle = open(heldOutput().output);
    await idle.frames.close();
    const gone = open(heldOutput().output);
    gone.frames.write([Buffer.from('{}')]);
    gone.output.destroy();
    await gone.frames.close();
    assert.deepEqual([idle.clock.waiting, gone.clock.waiting], [0, 0]);
  });
});
