import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { toError, toMessage } from '../../../hub/documentation/process/errors.ts';

test('an error of the hub has its code, message and data after it was passed between processes', () => {
  const error = new HubError('HUB_GIT_FAILED', 'git failed', { data: { exitCode: 128 } });
  const { code, message, data } = toError(structuredClone(toMessage(error)));
  assert.deepEqual([code, message, data], [error.code, error.message, error.data]);
});

test.each([
  [toMessage(new TypeError('x is not a function')), 'x is not a function'],
  [{ message: 'odd', code: 'NO_CODE' }, 'odd'],
  [undefined, 'the process failed'],
])('%j is read as an internal error', (value, expected) => {
  const { code, message } = toError(value);
  assert.deepEqual([code, message], ['HUB_INTERNAL', expected]);
});
