import assert from 'node:assert/strict';
import { test } from 'vitest';
import { parseExactly, tryParseExactly } from '#core';

test.each([
  '{"id":9007199254740993,"ids":[-90071992547409931]}',
  '18446744073709551615',
  '[1e999,-1.5E+400]',
  '{"n":3,"f":1.5,"s":"9007199254740993","nothing":null}',
])('%s is written as it was read', text => {
  assert.equal(JSON.stringify(parseExactly(text)), text);
});

test('numbers that are exact in JavaScript are numbers', () => {
  assert.deepEqual(
    parseExactly('[1.0,-0,9007199254740991,1e300,0.1]'),
    [1, -0, 9007199254740991, 1e300, 0.1],
  );
});

test('invalid JSON is refused', () => {
  assert.throws(() => parseExactly('{"a"'), SyntaxError);
  assert.equal(tryParseExactly('{"a"'), undefined);
});
