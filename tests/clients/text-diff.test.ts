import assert from 'node:assert/strict';
import { test } from 'vitest';
import { diffTexts } from '#clients';

const show = (before: string, after: string, shown: readonly string[] = []) =>
  diffTexts(before, after, shown).map(({ sign, text }) => (sign === '@' ? text : sign + text));

test('a difference has three lines of context, and its position', () => {
  const lines = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
  const before = `${lines.join('\n')}\n`;
  const after = before.replace('5\n', 'x\ny\n');
  assert.deepEqual(show(before, after), [
    '@@ -2,7 +2,8 @@',
    ' 2',
    ' 3',
    ' 4',
    '-5',
    '+x',
    '+y',
    ' 6',
    ' 7',
    ' 8',
  ]);
  assert.deepEqual(show(before, before), []);
  assert.deepEqual(show('', 'a\n'), ['@@ -1,0 +1,1 @@', '+a']);
});

test('values of other entries are hidden, wherever they are', () => {
  const planted = 'planted-0123456789';
  const before = [
    `{ "one": { "env": { "KEY": "${planted}" }, "args": ["--key", "${planted}"] },`,
    `  // ${planted}`,
    `  key = '${planted}' # ${planted}`,
    `${planted}==`,
    '}',
  ].join('\n');
  const after = before.replace('\n}', '\n  "agenthub": { "url": "http://x" }\n}');
  const shown = show(before, after, ['http://x']).join('\n');
  assert.doesNotMatch(shown, /planted|--key/);
  assert.match(shown, /^\+ {2}"agenthub": \{ "url": "http:\/\/x" \}$/m);
});

test('of a file with one line only the part around the change is shown', () => {
  const filler = `"x": [${'1,'.repeat(2000)}1]`;
  const before = `{${filler}, "mcpServers": {}, ${filler}}`;
  const after = before.replace('{},', '{"agenthub": {"url": "u"}},');
  const [, removed = '', added = ''] = show(before, after, ['u']);
  assert.match(added, /"mcpServers": \{"agenthub": \{"url": "u"\}\}/);
  for (const line of [removed, added]) assert.ok(line.length < 200, line);
});
