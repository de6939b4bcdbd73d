import assert from 'node:assert/strict';
import { test } from 'vitest';
import { shapesOnly } from '../../hub/telemetry/redact.ts';
import { shownArguments } from '../../hub/app/wire-approvals.ts';

test.each([
  ['{"path":"a"}', '{"path":"a"}'],
  ['{"api_key":"abcdefghij","path":"a"}', '{"api_key":"[redacted]","path":"a"}'],
  ['{"path":"a\u202ecod.exe\u200b"}', '{"path":"a\\u{202e}cod.exe\\u{200b}"}'],
  ['{}', '{}'],
])('%s is shown as %s', (args, expected) => {
  assert.equal(shownArguments(args, shapesOnly), expected);
});

test('long arguments are cut, and their length is shown', () => {
  const shown = shownArguments(JSON.stringify({ text: 'x'.repeat(5_000) }), shapesOnly);
  assert.ok(shown.length < 1_100);
  assert.match(shown, /x\.\.\. \(5011 characters in all\)$/);
});
