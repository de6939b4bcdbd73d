import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  indentAt,
  indentUnitOf,
  isFirstOfLine,
  lineBreakOf,
  lineEnd,
  lineStart,
  nextLine,
  splice,
} from '../../hub/config/splice.ts';

test('splices are applied in any order, and two at one offset in the order given', () => {
  const text = 'abcdef';
  assert.equal(splice(text, []), text);
  assert.equal(
    splice(text, [
      { start: 4, end: 6, text: 'E' },
      { start: 0, end: 1, text: '' },
      { start: 2, end: 2, text: '1' },
      { start: 2, end: 2, text: '2' },
    ]),
    'b12cdE',
  );
});

test('the start and end of a line are found, with either line break', () => {
  const text = 'one\r\n  two\nthree';
  const at = text.indexOf('two');
  assert.equal(lineStart(text, at), 5);
  assert.equal(lineEnd(text, at), 10);
  assert.equal(nextLine(text, at), 11);
  assert.equal(lineEnd(text, 0), 3, 'before the carriage return');
  assert.equal(lineStart(text, 0), 0);
  assert.equal(lineEnd(text, text.length), text.length);
  assert.equal(nextLine(text, text.length), text.length);
});

test('indentation is the white space before an offset', () => {
  const text = 'a:\n \tb: 1';
  assert.equal(indentAt(text, text.indexOf('b')), ' \t');
  assert.equal(indentAt(text, text.indexOf('1')), ' \t');
  assert.ok(isFirstOfLine(text, text.indexOf('b')));
  assert.ok(!isFirstOfLine(text, text.indexOf('1')));
});

test.each([
  ['a\r\nb\n', '\r\n'],
  ['a\nb\r\n', '\n'],
  ['a', '\n'],
  ['', '\n'],
])('%j has the line break %j', (text, expected) => assert.equal(lineBreakOf(text), expected));

test.each([
  ['{\n\t"a": 1\n}', '\t'],
  ['a:\n    b: 1\n', '    '],
  ['{}', '  '],
])('%j is indented by %j', (text, expected) => assert.equal(indentUnitOf(text), expected));
