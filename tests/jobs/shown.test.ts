import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError, silent } from '#core';
import { createShown } from '../../hub/jobs/shown.ts';

function open() {
  const logged: unknown[] = [];
  const shown = createShown({
    log: { ...silent, error: (fields: object) => void logged.push(fields) },
    redaction: {
      text: text => text.replaceAll('hunter2', '[redacted]'),
      json: value => JSON.parse(JSON.stringify(value).replaceAll('hunter2', '[redacted]')),
    },
  });
  return { shown, logged };
}

test('secrets are redacted before a text is cut', () => {
  const { shown } = open();
  assert.equal(shown.title('with hunter2'), 'with [redacted]');
  assert.equal(shown.title('x'.repeat(1_000)).length, 200);
  assert.deepEqual(shown.line({ step: 'build', text: `hunter2${'x'.repeat(1_000)}` }), {
    step: 'build',
    text: `[redacted]${'x'.repeat(490)}`,
  });
});

test('a result is redacted, and omitted if it is too long', () => {
  const { shown } = open();
  assert.deepEqual(shown.result({ key: 'hunter2' }), { key: '[redacted]' });
  assert.deepEqual(shown.result({ text: 'x'.repeat(8_000) }), {});
});

test('an error of the hub is shown with its code', () => {
  const { shown, logged } = open();
  const error = new HubError('HUB_USAGE', 'not hunter2');
  assert.deepEqual(shown.error('job-1', error), { code: 'HUB_USAGE', message: 'not [redacted]' });
  assert.deepEqual(logged, []);
});

test.each([new TypeError('a bug'), 'a bug'])('a bug is logged, and not shown', error => {
  const { shown, logged } = open();
  const { code, message } = shown.error('job-1', error);
  assert.equal(code, 'HUB_INTERNAL');
  assert.match(message, /job-1/);
  assert.doesNotMatch(message, /a bug/);
  assert.match(JSON.stringify(logged), /a bug/);
});
