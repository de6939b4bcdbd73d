import assert from 'node:assert/strict';
import { test } from 'vitest';
import { diffDefinitions } from '../../hub/definitions/definition-diff.ts';

const shown = (...definitions: Parameters<typeof diffDefinitions>) =>
  diffDefinitions(...definitions).map(({ sign, text }) => `${sign} ${text}`);

test('the lines that differ are shown, with unseen characters as codes', () => {
  const before = { description: 'one\ntwo\nthree', inputSchema: { type: 'object' } };
  const after = { description: 'one\ntwo\u202e\u001b[2J\nthree', inputSchema: { type: 'object' } };
  assert.deepEqual(shown(before, after), [
    '  description:',
    '    one',
    '-   two',
    '+   two<U+202E><U+001B>[2J',
    '    three',
    '  "inputSchema": {',
    '    "type": "object"',
  ]);
});

test('a line break of another kind cannot hide a line', () => {
  assert.deepEqual(shown({ text: 'a' }, { text: 'a\rb\u2028c' }), [
    '  text:',
    '-   a',
    '+   a<U+000D>b<U+2028>c',
  ]);
});

test('everything of a new definition is new', () => {
  assert.deepEqual(shown(undefined, { description: 'x' }), ['+ description:', '+   x']);
  assert.deepEqual(shown({ description: 'x' }, { description: 'x' }), []);
});
