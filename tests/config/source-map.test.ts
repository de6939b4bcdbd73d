import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readJson } from '../../hub/config/json.ts';
import {
  type SourceNode,
  isNull,
  lineAndColumnOf,
  mapIn,
  valueOf,
} from '../../hub/config/source-map.ts';
import { readYaml } from '../../hub/config/yaml.ts';

function rootOf(text: string, read: typeof readJson = readJson): SourceNode {
  const { root } = read({ file: 'a', text });
  assert.ok(root);
  return root;
}

test.for([
  [0, 1, 1],
  [2, 1, 3],
  [3, 2, 1],
  [4, 3, 1],
  [7, 4, 2],
  [99, 4, 3],
] as const)('offset %i is in line %i, column %i', ([offset, line, column]) => {
  const source = { file: 'a', text: 'ab\n\nc\nde' };
  assert.deepEqual(lineAndColumnOf({ source, offset, path: [] }), { line, column });
});

test('of duplicate keys the last one counts, and inherited names are not keys', () => {
  const root = rootOf('{"a": 1, "a": 2}');
  const value = valueOf(root, 'a');
  assert.ok(value?.kind === 'scalar' && value.value === 2);
  assert.equal(valueOf(root, 'toString'), undefined);
  assert.equal(valueOf(undefined, 'a'), undefined);
  assert.equal(valueOf(rootOf('[1]'), '0'), undefined);
});

test('only null counts as null', () => {
  assert.equal(isNull(rootOf('null')), true);
  assert.equal(isNull(rootOf('~', readYaml)), true);
  for (const text of ['0', '""', 'false', '{}', '[]', '"null"'])
    assert.equal(isNull(rootOf(text)), false, text);
});

test('an alias of an object cannot be edited as that object', () => {
  const root = rootOf('a: &one {x: 1}\nb: *one\nc: x\n', readYaml);
  assert.ok(root.kind === 'map');
  assert.deepEqual(
    root.entries.map(entry => mapIn(entry)?.kind),
    ['map', undefined, undefined],
  );
});
