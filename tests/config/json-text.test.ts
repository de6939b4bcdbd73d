import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Json } from '#core';
import { HubError } from '#core';
import { readJsonText } from '../../hub/config/json-text.ts';

const read = (text: string) => readJsonText({ file: 'a.json', text });

test.for([
  ['', 'a.json:1:1: it contains no value: write {}'],
  ['// none\n', 'a.json:1:1: it contains no value: write {}'],
  ['{\n"a" 1}', 'a.json:2:5: not valid JSON: a ":" is missing before this'],
] as const)('%j is refused with the position of the error', ([text, message]) => {
  assert.throws(
    () => read(text),
    (error: unknown) => error instanceof HubError && error.message === message,
  );
});

test('of duplicate keys the last one counts, and is the one that is edited', () => {
  const file = read('{"a": 1, "a": {"b": 2}}');
  assert.deepEqual(file.value, { a: { b: 2 } });
  assert.equal(file.with(['a', 'b'], 3), '{"a": 1, "a": {"b": 3}}');
});

describe('a new value', () => {
  test.for([
    ['{"a": {"b": 1}, "c": 2}', ['a', 'b'], 3, '{"a": {"b": 3}, "c": 2}'],
    ['{"a": {"b": 1}}', ['a', 'c'], null, '{"a": {"b": 1, "c": null}}'],
    ['{"a": {"b": 1}}', ['a'], 'x', '{"a": "x"}'],
    ['{"a": 1} // end', ['x', 'y', 'z'], [1], '{"a": 1, "x": { "y": { "z": [1] } }} // end'],
    ['{"a": {"b": 1}}', ['a', 'b'], undefined, '{"a": {}}'],
    ['{"a": {"b": 1}}', ['a', 'c', 'd'], undefined, '{"a": {"b": 1}}'],
    ['{}', ['a', 'b'], undefined, '{}'],
    ['{"a": [{"b": 1}]}', ['a', 'b'], 1, undefined],
    ['{"a": "x"}', ['a', 'b'], 1, undefined],
    ['{"a": null}', ['a', 'b'], undefined, undefined],
    ['[]', ['a'], 1, undefined],
  ] as const satisfies readonly (readonly [
    string,
    readonly string[],
    Json | undefined,
    unknown,
  ])[])('in %j at %j: %j gives %j', ([text, path, value, expected]) => {
    assert.equal(read(text).with(path, value), expected);
  });
});
