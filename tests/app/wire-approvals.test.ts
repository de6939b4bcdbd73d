import assert from 'node:assert/strict';
import { test } from 'vitest';
import { shapesOnly } from '../../hub/telemetry/redact.ts';
import { shownArguments } from '../../hub/app/wire-approvals.ts';

test.each([
  ['{"path":"a"}', '{"path":"a"}'],
  ['{"api_key":"abcdefghij","path":"a"}', '{"api_key":"[redacted]","path":"a"}'],
  ['{"path":"a\u202ecod.exe\u200b"}', '{"path":"a<U+202E>cod.exe<U+200B>"}'],
  ['{"a":"\u3164\ufe0f"}', '{"a":"<U+3164><U+FE0F>"}'],
  [
    '{"n":9007199254740993,"big":1e400,"z":-0,"f":1.0,"i":12}',
    '{"n":9007199254740993,"big":1e400,"z":-0,"f":1.0,"i":12}',
  ],
  ['{"a":"number:1","b":1.0}', '{"a":"number:1","b":1.0}'],
  ['{"__proto__":{"path":"/etc"}}', '{"__proto__":{"path":"/etc"}}'],
  ['{}', '{}'],
])('%s is shown as %s', (args, expected) => {
  assert.equal(shownArguments(args, shapesOnly), expected);
});

test('long arguments are cut, and their length is shown', () => {
  const shown = shownArguments(JSON.stringify({ text: 'x'.repeat(5_000) }), shapesOnly);
  assert.ok(shown.length < 1_100);
  assert.match(shown, /x\.\.\. \(5011 characters in all\)$/);
});
