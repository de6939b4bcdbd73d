import assert from 'node:assert/strict';
import { HubError, errorCodeOf, ignoreMissing, kindOf, messageOf } from '#core';
import { describe, test } from 'vitest';

test('an error keeps its code, message, cause and facts', () => {
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

test('the kind follows from the code, and what is not ours is internal', () => {
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

test('only that a file is missing is ignored', () => {
  assert.equal(ignoreMissing(Object.assign(new Error('open'), { code: 'ENOENT' })), undefined);
  const denied = Object.assign(new Error('open'), { code: 'EACCES' });
  assert.throws(() => ignoreMissing(denied), denied);
});

describe('messageOf', () => {
  test('tells the causes of a foreign error, and only the message of ours', () => {
    const cause = new Error('inner', { cause: 'deepest' });
    assert.equal(messageOf(new Error('outer', { cause })), 'outer: inner: deepest');
    assert.equal(messageOf(new HubError('HUB_USAGE', 'ours', { cause })), 'ours');
  });

  test('tells a cause once that the message quotes', () => {
    const cause = new Error('inner', { cause: 'deepest' });
    const outer = new Error('it failed: inner: deepest. Try again', { cause });
    assert.equal(messageOf(outer), 'it failed: inner: deepest. Try again');
  });

  test('has words for errors without a message and for what is no error', () => {
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    assert.equal(messageOf(refused), 'ECONNREFUSED');
    assert.equal(messageOf(new RangeError('')), 'RangeError');
    assert.equal(messageOf('text'), 'text');
    assert.equal(messageOf(undefined), 'undefined');
  });
});
