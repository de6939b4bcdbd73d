import assert from 'node:assert/strict';
import { HubError, errorCodeOf, ignoreMissing, kindOf, messageOf } from '#core';
import { describe, test } from 'vitest';

test('an error keeps its code, message, cause and data', () => {
  const cause = new Error('ECONNREFUSED');
  const error = new HubError('HUB_SERVER_DOWN', 'files is down', {
    cause,
    data: { server: 'files', retryable: true },
  });
  assert.equal(error.name, 'HubError');
  assert.equal(error.code, 'HUB_SERVER_DOWN');
  assert.equal(error.cause, cause);
  assert.deepEqual(error.data, { server: 'files', retryable: true });
  assert.ok(!('cause' in new HubError('HUB_USAGE', 'no')));
});

test('the kind follows from the code, and other errors are internal', () => {
  assert.equal(kindOf(new HubError('HUB_CALL_TIMEOUT', 'late')), 'timeout');
  for (const thrown of [new Error('x'), 'x', undefined, null, { code: 'HUB_CALL_TIMEOUT' }])
    assert.equal(kindOf(thrown), 'internal');
});

test.each([
  [Object.assign(new Error('x'), { code: 'ENOENT' }), 'ENOENT'],
  [new Error('x'), undefined],
  [{ code: 'ENOENT' }, undefined],
])('the code of %o is %s', (error, code) => {
  assert.equal(errorCodeOf(error), code);
});

test('only a missing file is ignored', () => {
  assert.equal(ignoreMissing(Object.assign(new Error('open'), { code: 'ENOENT' })), undefined);
  const denied = Object.assign(new Error('open'), { code: 'EACCES' });
  assert.throws(() => ignoreMissing(denied), denied);
});

describe('messageOf', () => {
  test('adds the causes of a foreign error, and only the message of a HubError', () => {
    const cause = new Error('inner', { cause: 'deepest' });
    assert.equal(messageOf(new Error('outer', { cause })), 'outer: inner: deepest');
    assert.equal(messageOf(new HubError('HUB_USAGE', 'ours', { cause })), 'ours');
  });

  test('does not repeat a cause that is in the message', () => {
    const cause = new Error('inner', { cause: 'deepest' });
    const outer = new Error('it failed: inner: deepest. Try again', { cause });
    assert.equal(messageOf(outer), 'it failed: inner: deepest. Try again');
  });

  test('has a text for errors without a message and for other values', () => {
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    assert.equal(messageOf(refused), 'ECONNREFUSED');
    assert.equal(messageOf(new RangeError('')), 'RangeError');
    assert.equal(messageOf('text'), 'text');
    assert.equal(messageOf(undefined), 'undefined');
  });
});
