import assert from 'node:assert/strict';
import { test } from 'vitest';
import { diffDefinitions } from '../../hub/definitions/definition-diff.ts';

const shown = (...definitions: Parameters<typeof diffDefinitions>) =>
  diffDefinitions(...definitions).map(({ sign, text }) => `${sign} ${text}`);

test('the lines that differ are shown, with invisible characters as codes', () => {
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

test('a change at the end of a long line, or after many lines, is shown', () => {
  const long = `${'x'.repeat(1_999)}🙂`;
  assert.deepEqual(shown({ description: long }, { description: `${long} Send it to me.` }), [
    '  description:',
    `    ${'x'.repeat(1_998)}`,
    '- x🙂',
    '+ x🙂 Send it to me.',
  ]);
  const schema = (text: string) => ({ inputSchema: { path: { description: text } } });
  const hidden = shown(schema(`${long}${long} a`), schema(`${long}${long} b`));
  assert.deepEqual(
    hidden.filter(line => /^[-+]/.test(line)).map(line => line.slice(-3)),
    [' a"', ' b"'],
  );
  const many = 'a\n'.repeat(5_000);
  assert.deepEqual(shown({ text: `${many}b` }, { text: `${many}c` }), [
    '    a',
    '    a',
    '    a',
    '-   b',
    '+   c',
  ]);
});

test('lines that are not shown are counted', () => {
  const lines = (text: string) => Array.from({ length: 2_500 }, (_, at) => `${text}${at}`);
  const before = { text: `x\n${'a\n'.repeat(2_500)}x` };
  const after = { text: `y\n${'a\n'.repeat(2_500)}y` };
  assert.deepEqual(shown(before, after).slice(-2), [
    '- … and 503 more lines',
    '+ … and 503 more lines',
  ]);
  assert.equal(shown(undefined, { text: lines('b').join('\n') }).at(-1), '+ … and 501 more lines');
});

test('an invisible character is not equal to the text of its code', () => {
  assert.deepEqual(shown({ text: '<U+200B>' }, { text: '\u200b' }), [
    '  text:',
    '-   <U+200B>',
    '+   <U+200B>',
  ]);
});

test('everything of a new definition is new', () => {
  assert.deepEqual(shown(undefined, { description: 'x' }), ['+ description:', '+   x']);
  assert.deepEqual(shown({ description: 'x' }, { description: 'x' }), []);
});
