import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { throwIfCancelled } from '#runtimes';
import { specOf } from './docker/hub.ts';

const spec = specOf('memory', {});

test('a start that is not cancelled continues', () => {
  throwIfCancelled(spec, new AbortController().signal);
});

test('a cancelled start fails with the error of the cancellation', () => {
  const error = new HubError('HUB_SERVER_DOWN', 'the server was removed');
  assert.throws(() => throwIfCancelled(spec, AbortSignal.abort(error)), error);
});

test('a start that is cancelled for another reason says so, with the reason as its cause', () => {
  const cause = new Error('why');
  assert.throws(() => throwIfCancelled(spec, AbortSignal.abort(cause)), {
    code: 'HUB_CALL_CANCELLED',
    message: 'the start of memory was cancelled',
    data: { server: 'memory' },
    cause,
  });
});
