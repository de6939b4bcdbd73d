import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { fieldsOf, objectsIn, readEvents, readWhole } from '../../hub/cli/responses.ts';
import { responseOf } from './scripted-hub.ts';

const eventsOf = async (...body: readonly (string | Buffer)[]) =>
  await Array.fromAsync(readEvents(responseOf({ body })));

test('a value that is not an object has no fields, and one that is not a list has no objects', () => {
  for (const value of [undefined, null, 'x', 1, ['a']]) assert.deepEqual(fieldsOf(value), {});
  for (const value of [undefined, { 0: {} }, 'x']) assert.deepEqual(objectsIn(value), []);
  assert.deepEqual(objectsIn([{ a: 1 }, null, 'x', [1]]), [{ a: 1 }]);
});

test('a body is read completely, with characters that are split between chunks', async () => {
  const bytes = Buffer.from('{"a": "ü🎉"}');
  const body = Array.from(bytes, byte => Buffer.from([byte]));
  assert.equal(await readWhole(responseOf({ body })), '{"a": "ü🎉"}');
  assert.equal(await readWhole(responseOf({})), '');
});

describe('events', () => {
  test.for([
    ['data: a\n\n', [{ type: 'message', data: 'a' }]],
    ['event: done\ndata: a\ndata: b\n\n', [{ type: 'done', data: 'a\nb' }]],
    ['event: done\r\ndata: a\r\n\r\n', [{ type: 'done', data: 'a' }]],
    [
      'data:a\n\ndata:  b\n\n',
      [
        { type: 'message', data: 'a' },
        { type: 'message', data: ' b' },
      ],
    ],
    ['data: a: b\n\n', [{ type: 'message', data: 'a: b' }]],
    ['data\n\n', [{ type: 'message', data: '' }]],
    [': ping\nid: 1\nretry: 2\n\n', []],
    ['event: done\n\ndata: a\n\n', [{ type: 'message', data: 'a' }]],
    ['data: cut off', []],
    ['data: cut off\n', []],
  ] as const)('of %j', async ([text, expected]) => {
    assert.deepEqual(await eventsOf(text), expected);
    assert.deepEqual(await eventsOf(...text.split('')), expected, 'one character at a time');
  });

  test('come as they arrive', async () => {
    const answer = responseOf({ body: ['data: a\n\ndata: b'], breaks: true });
    const events = readEvents(answer)[Symbol.asyncIterator]();
    assert.deepEqual(await events.next(), { done: false, value: { type: 'message', data: 'a' } });
    await assert.rejects(events.next(), { code: 'HUB_CONNECT_FAILED' });
  });
});

test('a connection that breaks during the response is an error', async () => {
  await assert.rejects(readWhole(responseOf({ body: ['{'], breaks: true })), {
    code: 'HUB_CONNECT_FAILED',
    message: /closed the connection in the middle of its response/,
  });
});

test('an interrupted command rejects with the abort', async () => {
  const answer = responseOf({ body: ['{'], breaks: true });
  answer.destroy(new DOMException('ended', 'AbortError'));
  await assert.rejects(readWhole(answer), { name: 'AbortError' });
});
