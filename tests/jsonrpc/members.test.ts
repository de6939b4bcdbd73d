import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { dropMembers, membersOf, setMembers, splice } from '#jsonrpc';

/** An object within a message, and what is to be done to it. */
function within(text: string) {
  const bytes = Buffer.from(`{"before":1,"it":${text},"after":2}`);
  const span = membersOf(bytes, { start: 0, end: bytes.length })?.get('it');
  const members = membersOf(bytes, span);
  assert.ok(span && members);
  const edited = (edits: Parameters<typeof splice>[1]) => {
    const whole = splice(bytes, edits).toString();
    const [, inner] = /^\{"before":1,"it":(.*),"after":2\}$/s.exec(whole) ?? [];
    return inner ?? assert.fail(whole);
  };
  return {
    drop: (...names: readonly string[]) =>
      edited(dropMembers(bytes, span, members, new Set(names))),
    set: (given: Readonly<Record<string, string>>) => edited(setMembers(span, members, given)),
  };
}

describe('members that are dropped', () => {
  for (const [text, names, left] of [
    ['{"a":1,"b":2,"c":3}', [], '{"a":1,"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['x'], '{"a":1,"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['a'], '{"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['b'], '{"a":1,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['c'], '{"a":1,"b":2}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'b'], '{"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'c'], '{"b":2}'],
    ['{"a":1,"b":2,"c":3}', ['b', 'c'], '{"a":1}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'b', 'c'], '{}'],
    ['{}', ['a'], '{}'],
    ['{"a":[1,{"b":","}],"b":{"a":1},"c":"}"}', ['a'], '{"b":{"a":1},"c":"}"}'],
    ['{"a":[1,{"b":","}],"b":{"a":1},"c":"}"}', ['b'], '{"a":[1,{"b":","}],"c":"}"}'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', ['a'], '{ "b" : 2 , "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', ['b'], '{ "a" : 1 , "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', ['c'], '{ "a" : 1 , "b" : 2 }'],
    [String.raw`{"\u0061":1,"b":2}`, ['a'], '{"b":2}'],
  ] as const)
    test(`${names.join() || 'none'} of ${text}`, () => {
      assert.equal(within(text).drop(...names), left);
    });
});

describe('members that are set', () => {
  for (const [text, given, left] of [
    ['{"a":1,"b":2}', { b: '3' }, '{"a":1,"b":3}'],
    ['{"a":1}', { b: '[2]', c: '{}' }, '{"b":[2],"c":{},"a":1}'],
    ['{}', { 'b"': '2' }, String.raw`{"b\"":2}`],
    ['{"a":1}', { b: '2', a: '3' }, '{"b":2,"a":3}'],
    ['{"a":1}', {}, '{"a":1}'],
  ] as const)
    test(`${JSON.stringify(given)} in ${text}`, () => {
      assert.equal(within(text).set(given), left);
    });
});
