import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createWriteBatch } from '#core';

const turn = () => new Promise(setImmediate);

/** Creates a batch over a sink that records its writes, and reports as many unsent bytes as the test sets. */
function open(options: { readonly frameBytes?: number } = {}) {
  const written: string[] = [];
  const waited: number[] = [];
  const sink = { unsent: 0 };
  const batch = createWriteBatch(
    {
      write: messages => void written.push(messages.map(String).join('|')),
      unsentBytes: () => sink.unsent,
    },
    { maxUnsentBytes: 10, waits: bytes => void waited.push(bytes), ...options },
  );
  const send = (text: string) => batch.send(Buffer.from(text));
  return { batch, send, sink, waited, written };
}

describe('a write batch', () => {
  test('writes the messages of one turn at once, at the end of the turn', async () => {
    const { send, written } = open();
    assert.ok(send('a') && send('bc'));
    assert.deepEqual(written, []);
    await turn();
    assert.deepEqual(written, ['a|bc']);
    send('d');
    await turn();
    assert.deepEqual(written.slice(1), ['d']);
  });

  test('counts the bytes of the frames of messages', async () => {
    const { batch, send, written } = open({ frameBytes: 2 });
    send('a');
    send('bc');
    assert.equal(batch.queuedBytes, 7);
    await turn();
    assert.deepEqual(written, ['a|bc']);
    assert.equal(batch.queuedBytes, 0);
  });

  test('refuses messages that would wait above its bound, but accepts one message of any length', async () => {
    const { send, sink, waited } = open();
    assert.ok(send('x'.repeat(20)));
    assert.equal(send('y'), false);
    await turn();
    sink.unsent = 8;
    assert.equal(send('abc'), false);
    assert.ok(send('ab'));
    assert.deepEqual(waited, [2], 'only what waits behind others is told of');
  });

  test('writes at once on flush, and drops messages on clear', async () => {
    const { batch, send, written } = open();
    send('a');
    batch.flush();
    assert.deepEqual(written, ['a']);
    send('b');
    batch.clear();
    send('c');
    await turn();
    assert.deepEqual(written.slice(1), ['c']);
    batch.flush();
    assert.equal(written.length, 2);
  });
});
