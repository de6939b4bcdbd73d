import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Json } from '#core';
import { documentOf } from '../../hub/config/document.ts';
import type { SourceEntry, SourceMap } from '../../hub/config/source-map.ts';
import { splice } from '../../hub/config/splice.ts';
import { changeInBlock, insertInBlock, insertInEmpty, readYaml } from '../../hub/config/yaml.ts';

const read = (text: string) => readYaml({ file: 'a.yaml', text });

function mapOf(text: string): SourceMap {
  const { root, fault } = read(text);
  assert.deepEqual(fault, undefined);
  assert.ok(root?.kind === 'map');
  return root;
}

/** Returns the first entry, and the object that is its value. */
function groupOf(root: SourceMap): { readonly group: SourceEntry; readonly object: SourceMap } {
  const [group] = root.entries;
  assert.ok(group?.value.kind === 'map');
  return { group, object: group.value };
}

describe('YAML becomes values:', () => {
  test.for([
    ['a: 1\nb: [x, ~]\n', { a: 1, b: ['x', null] }],
    ['a: &one {x: 1}\nb: *one\n', { a: { x: 1 }, b: { x: 1 } }],
    ['a: &key name\n*key : 1\n', { a: 'name', name: 1 }],
    ['1: a\ntrue: b\n? [x, y]\n: c\n', { 1: 'a', true: 'b', '["x","y"]': 'c' }],
    ['a:\n', { a: null }],
    ['? a\n', { a: null }],
    ['plain', 'plain'],
  ] as const)('%j', ([text, expected]) => {
    const { root } = read(text);
    assert.ok(root);
    assert.deepEqual(documentOf(root).value, expected);
  });

  test('a file without a value has no root and no fault', () => {
    assert.deepEqual(read('# none\n'), { root: undefined, fault: undefined });
  });
});

describe('invalid YAML is refused with the offset of the error:', () => {
  test.for([
    ['a: [1', 5],
    ['a: 1\n\tb: 2\n', 5],
    ['a: *none\n', 3],
    ['*none : 1\n', 0],
    ['a: !tag x\n', 3],
    ['a: 1\n---\nb: 1\n', 5],
  ] as const)('%j', ([text, offset]) => {
    const { fault } = read(text);
    assert.ok(fault);
    assert.equal(fault.offset, offset, fault.text);
  });

  test.for([
    ['a: 1\n---\nb: 1\n', 'it has several documents: keep one, without "---" after it'],
    ['a: !tag x\n', 'the tag !tag is not known: remove it'],
    ['a:\n\tb: 1\n', 'a tab indents the line: write spaces'],
    [
      'a: &base {x: 1}\nb:\n  <<: *base\n',
      'the merge key "<<" is not supported: write the keys out, or use an alias for the whole value',
    ],
  ] as const)('and with a remedy: %j', ([text, expected]) => {
    assert.equal(read(text).fault?.text, expected);
  });

  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  /** Returns YAML with 103 values, and 102 more for each alias. */
  const repeated = (aliases: number) =>
    `a: &a [${'1,'.repeat(100)}]\nb: [${'*a,'.repeat(aliases)}]`;

  test.for([
    ['an alias in itself', 'x: 1\na: &a\n  b: *a\n'],
    ['values in more than 65 levels', nested(66)],
    ['more than 20,000 values', repeated(196)],
  ] as const)('%s', ([, text]) => {
    assert.match(read(text).fault?.text ?? '', /too many values/);
  });

  test('the maximum of levels and values is accepted', () => {
    assert.equal(read(nested(65)).fault, undefined);
    assert.equal(read(repeated(195)).fault, undefined);
  });

  test('an alias without an anchor is an error, not null, which would remove a server', () => {
    assert.equal(
      read('servers:\n  a: *none\n').fault?.text,
      'the alias "*none" needs an anchor "&none" above it',
    );
  });
});

test("an alias is an entry with its own text and the offset of its target's value", () => {
  const text = 'a: &one {x: 1}\nb: *one\n';
  const [, alias] = mapOf(text).entries;
  assert.ok(alias?.isAlias);
  assert.equal(text.slice(alias.valueStart, alias.end), '*one');
  assert.equal(alias.value.offset, text.indexOf('{'));
});

describe('an entry put into a block', () => {
  const inserted = (text: string, value: Json = { x: 1 }) =>
    splice(text, insertInBlock(groupOf(mapOf(text)).object, ['new', value]));

  test.for([
    ['s:\n  a: 1\n', 's:\n  a: 1\n  new:\n    x: 1\n'],
    ['s:\n   a:\n      b: 1\n', 's:\n   a:\n      b: 1\n   new:\n      x: 1\n'],
    ['s:\n    a: 1\n', 's:\n    a: 1\n    new:\n        x: 1\n'],
    ['s:\n  a: 1', 's:\n  a: 1\n  new:\n    x: 1'],
    ['s:\r\n  a: 1\r\n', 's:\r\n  a: 1\r\n  new:\r\n    x: 1\r\n'],
    [
      's:\n  a: 1\n  # of a\n# of t\nt: 1\n',
      's:\n  a: 1\n  # of a\n  new:\n    x: 1\n# of t\nt: 1\n',
    ],
    ['s:\n  a: 1\n\n\nt: 1\n', 's:\n  a: 1\n  new:\n    x: 1\n\n\nt: 1\n'],
  ] as const)('%j comes last, indented as the others', ([text, expected]) => {
    assert.equal(inserted(text), expected);
  });

  test('keeps long lines unbroken, and quotes text that would be read as something else', () => {
    const long = 'word '.repeat(40).trimEnd();
    assert.equal(
      inserted('s:\n  a: 1\n', { long, text: 'no: # "x"', number: '1' }),
      `s:\n  a: 1\n  new:\n    long: ${long}\n    text: 'no: # "x"'\n    number: "1"\n`,
    );
  });
});

test.for([
  ['s: {}\n', 's:\n  new: 1\n'],
  ['s:  {} # none\nt: 1\n', 's: # none\n  new: 1\nt: 1\n'],
  ['s: {}', 's:\n  new: 1'],
] as const)(
  'an entry inserted into empty braces, %j, turns them into a block',
  ([text, expected]) => {
    const root = mapOf(text);
    const { group } = groupOf(root);
    assert.equal(splice(text, insertInEmpty(root, group, ['new', 1])), expected);
  },
);

describe('a changed entry of a block', () => {
  const changed = (text: string, index: number, value: Json | undefined) => {
    const { group, object } = groupOf(mapOf(text));
    const splices = changeInBlock(group, object, index, value);
    return splices && splice(text, splices);
  };
  const text = 's: # all\n  a: 1 # one\n    # of a\n  # of b\n  b: 2\nt: 1\n';

  test.for([
    [text, 0, 'x', text.replace(/a: 1[^]*# of a/, 'a: x')],
    [text, 0, undefined, text.replace(/ {2}a: 1[^]*# of a\n/, '')],
    ['s:\n  a: 1\n  b: 2', 1, 3, 's:\n  a: 1\n  b: 3'],
    ['s:\n  a: 1\n  b: 2', 1, undefined, 's:\n  a: 1'],
    ['s:\r\n  a: 1\r\n  b: 2', 1, undefined, 's:\r\n  a: 1'],
    ['s: # all\n  a: 1\nt: 1\n', 0, undefined, 's: {} # all\nt: 1\n'],
    [text, 2, undefined, undefined],
    ['s:\n  ? a\n  : 1\n', 0, 2, undefined],
  ] as const)('%j at %i: %j gives %j', ([before, index, value, after]) => {
    assert.equal(changed(before, index, value), after);
  });
});
