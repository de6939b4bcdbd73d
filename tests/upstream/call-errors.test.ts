import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { cancelled, refusedBy, timedOut, tooLong } from '../../hub/upstream/call-errors.ts';

/** Returns the hub's error for a response with this JSON-RPC error. */
function refusal(error: unknown) {
  const bytes = Buffer.from(JSON.stringify(error));
  const payload = { start: 0, end: bytes.length };
  const { code, message, data } = refusedBy('notes', 'tools/list', {
    kind: 'answer',
    failed: true,
    bytes,
    id: undefined,
    payload,
  });
  return { code, message, data };
}

describe('an error in an answer', () => {
  test('has the server, the method and the original error', () => {
    const error = { code: -32_601, message: 'no such method' };
    assert.deepEqual(refusal(error), {
      code: 'HUB_SERVER_PROTOCOL',
      message: 'notes refused tools/list: no such method',
      data: { server: 'notes', method: 'tools/list', error },
    });
  });

  test('that begins with the name of the server is unchanged', () => {
    const { message } = refusal({ message: 'notes did not take it', data: null });
    assert.equal(message, 'notes did not take it');
  });

  test('that begins with a longer name gets the name as a prefix', () => {
    assert.match(
      refusal({ message: 'notes2 is away' }).message,
      /^notes refused tools\/list: notes2/,
    );
  });

  test.for([['text'], [null], [3]])('that is %j has no reason', ([error]) => {
    assert.equal(refusal(error).message, 'notes refused tools/list: no reason given');
  });

  test.for([
    [true, true],
    [false, false],
    [undefined, false],
    ['true', false],
  ] as const)(
    'of a channel that could not reach the host is passed on, retryable %j: %j',
    ([told, retryable]) => {
      const data = { code: 'HUB_REMOTE_UNREACHABLE', status: 503, retryable: told };
      const error = { message: 'notes answered 503', data };
      const { code, message, data: given } = refusal(error);
      assert.deepEqual([code, message], ['HUB_REMOTE_UNREACHABLE', 'notes answered 503']);
      assert.deepEqual([given['status'], given['retryable']], [503, retryable]);
    },
  );

  test('cannot set another code of the hub', () => {
    const { code } = refusal({ message: 'x', data: { code: 'HUB_INTERNAL' } });
    assert.equal(code, 'HUB_SERVER_PROTOCOL');
  });
});

test.for([
  [timedOut('notes', 'ping', 1_500), 'HUB_CALL_TIMEOUT', /notes did not answer ping within 1\.5 s/],
  [cancelled('notes', 'ping', undefined), 'HUB_CALL_CANCELLED', /^ping was cancelled$/],
  [cancelled('notes', 'ping', 'too slow'), 'HUB_CALL_CANCELLED', /^ping was cancelled: too slow$/],
  [
    tooLong('notes', 12),
    'HUB_LINE_TOO_LONG',
    /^notes answered with 12 bytes.* raise "max_line" of this server$/,
  ],
] as const)('%s', ([error, code, message]) => {
  assert.equal(error.code, code);
  assert.match(error.message, message);
});
