import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import {
  errorResponseOf,
  refusal,
  show,
  unanswered,
  unknownObject,
} from '../../hub/broker/refusal.ts';

test.each([
  [refusal('a privileged container'), 403, 'the broker does not admit a privileged container'],
  [unknownObject('container', 'a'), 404, 'no such container: a'],
  [new HubError('HUB_ENGINE_UNREACHABLE', 'it is away'), 502, 'it is away'],
  [unanswered('list containers', 500), 500, 'the engine did not list containers (status 500)'],
  [new TypeError('a bug with details'), 500, 'internal error of the broker; see its log'],
])('the error %s has its HTTP status', (error, status, message) => {
  assert.deepEqual(errorResponseOf(error), { status, message });
});

test('a value is shown as JSON, and a long one is cut', () => {
  assert.equal(show('a\n'), '"a\\n"');
  assert.equal(show(undefined), 'undefined');
  assert.equal(show('x'.repeat(200)), `"${'x'.repeat(119)}...`);
});
