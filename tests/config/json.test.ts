import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readJson } from '../../hub/config/json.ts';

const read = (text: string) => readJson({ file: 'a.json', text });

describe('the first syntax error is reported with its offset:', () => {
  test.for([
    ['{a: 1}', 1, /strings need double quotes/],
    ["'a'", 0, /strings need double quotes/],
    ['[01]', 2, /a "," is missing/],
    ['[1 2]', 3, /a "," is missing/],
    ['{"a" 1}', 5, /a ":" is missing/],
    ['{"a": }', 6, /a value is missing/],
    ['[,]', 1, /a value is missing/],
    ['{"a": 1', 7, /a "\}" is missing/],
    ['[1', 2, /a "\]" is missing/],
    ['{"a": /* open', 6, /a comment that is not closed/],
    ['"a\nb"', 0, /a string that is not closed on its line/],
    ['[1e', 1, /a truncated number/],
    ['"\\u12"', 0, /needs four hexadecimal digits/],
    ['"C:\\Users"', 0, /write "\\\\" for a backslash/],
    ['"a\tb"', 0, /a control character in a string/],
    ['{} x', 3, /strings need double quotes/],
    ['{} {}', 3, /the file should end here/],
  ] as const)('%j', ([text, offset, message]) => {
    const { fault } = read(text);
    assert.equal(fault?.offset, offset);
    assert.match(fault.text, message);
  });
});

test.for(['', ' \n', '// nothing yet', '/* nothing */\n'])(
  '%j has neither a value nor a syntax error',
  text => {
    assert.deepEqual(read(text), { root: undefined, fault: undefined });
  },
);

test('a comment that is never closed is an error even if nothing precedes it', () => {
  assert.match(read('/* {"servers": {}}').fault?.text ?? '', /a comment that is not closed/);
});

test('trailing commas and comments are allowed', () => {
  assert.equal(read('{"a": [1,], // one\n}').fault, undefined);
});

test('every entry has the offsets of its key and of its value, and its path', () => {
  const text = '{ "a" : [ {"b": null} ] }';
  const { root } = read(text);
  assert.ok(root?.kind === 'map' && root.style === 'braces');
  assert.equal(root.end, text.length);
  const [outer] = root.entries;
  assert.ok(outer?.value.kind === 'list');
  assert.equal(text.slice(outer.offset, outer.keyEnd), '"a"');
  assert.equal(text.slice(outer.valueStart, outer.end), '[ {"b": null} ]');
  const [item] = outer.value.items;
  assert.ok(item?.kind === 'map');
  assert.deepEqual(item.path, ['a', 0]);
  const [inner] = item.entries;
  assert.ok(inner?.value.kind === 'scalar');
  assert.deepEqual([inner.path, inner.value.value], [['a', 0, 'b'], null]);
});

test('an entry that is truncated after its key is omitted', () => {
  const { root } = read('{"a": 1, "b":');
  assert.ok(root?.kind === 'map');
  assert.deepEqual(
    root.entries.map(({ key }) => key),
    ['a'],
  );
});
