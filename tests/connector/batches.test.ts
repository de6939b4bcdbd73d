import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { encodeResult, readMessages } from '#jsonrpc';
import { createBatches } from '../../hub/connector/batches.ts';

const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });
const notification = { jsonrpc: '2.0', method: 'notifications/nothing' };

function open() {
  const batches = createBatches();
  const shown = (bytes: Buffer | undefined): unknown => bytes && JSON.parse(bytes.toString());
  return {
    add: (...messages: readonly unknown[]) =>
      shown(batches.add(readMessages(Buffer.from(JSON.stringify(messages))).messages)),
    answered: (id: number) => shown(batches.answered(String(id), encodeResult(String(id), '{}'))),
    dropped: (id: number) => shown(batches.dropped(String(id))),
    keptBytes: () => batches.keptBytes,
  };
}

const answer = (id: number) => ({ jsonrpc: '2.0', id, result: {} });

describe('the responses to a batch', () => {
  test('are sent as one message, after the last of them', () => {
    const { add, answered, keptBytes } = open();
    assert.equal(add(ping(1), notification, ping(2)), undefined);
    assert.equal(add(ping(3), ping(4)), undefined);
    assert.equal(answered(2), undefined);
    assert.equal(answered(3), undefined);
    assert.ok(keptBytes() > 0);
    assert.deepEqual(answered(1), [answer(2), answer(1)]);
    assert.deepEqual(answered(4), [answer(3), answer(4)]);
    assert.equal(keptBytes(), 0);
  });

  test('are sent without waiting for a request that gets no response', () => {
    const { add, answered, dropped } = open();
    add(ping(1), ping(2));
    answered(1);
    assert.deepEqual(dropped(2), [answer(1)]);
    add(ping(3));
    assert.equal(dropped(3), undefined);
    assert.equal(dropped(4), undefined);
  });

  test('are none for notifications, and are sent at once for invalid messages', () => {
    const { add, keptBytes } = open();
    assert.equal(add(notification), undefined);
    assert.match(JSON.stringify(add(notification, 5, 6)), /^\[.*-32600.*-32600.*\]$/);
    assert.equal(keptBytes(), 0);
  });

  test('are paired by id, even if the client uses an id twice', () => {
    const { add, answered } = open();
    add(ping(1), ping(1));
    add(ping(1), ping(2));
    assert.deepEqual(answered(2), [answer(2)]);
    assert.deepEqual(answered(1), [answer(1)]);
  });
});

test('a response outside of batches is sent unchanged', () => {
  const { answered } = open();
  assert.deepEqual(answered(1), answer(1));
});
