import assert from 'node:assert/strict';
import { test } from 'vitest';
import { renameTools, renamedTool } from '../../hub/routing/tool-names.ts';

test.each<
  readonly [
    own: readonly string[],
    rename: Readonly<Record<string, string>>,
    names: readonly string[],
    taken: readonly string[],
  ]
>([
  [['a', 'b'], {}, ['a', 'b'], []],
  [['a', 'b'], { a: 'c' }, ['c', 'b'], []],
  [['a', 'b'], { a: 'b', b: 'a' }, ['b', 'a'], []],
  [['a', 'b'], { a: 'b' }, ['a', 'b'], ['a']],
  [['a', 'b', 'c'], { a: 'b', c: 'a' }, ['a', 'b', 'c'], ['a', 'c']],
  [['a'], { x: 'a' }, ['a'], []],
  [['toString'], {}, ['toString'], []],
])('the tools %j with the config %j are %j', (own, rename, names, taken) => {
  const renamed = renameTools(own, { rename });
  assert.deepEqual([...renamed.names.values()], names);
  assert.deepEqual(
    renamed.taken.map(({ name }) => name),
    taken,
  );
});

test.each([
  ['a', 'a', {}, '{"name":"a","description":"old"}'],
  ['a', 'b', {}, '{"name":"b","description":"old"}'],
  ['a', 'b', { a: 'new "text"' }, '{"name":"b","description":"new \\"text\\""}'],
  ['a', 'a', { b: 'new' }, '{"name":"a","description":"old"}'],
])('the tool %s, listed as %s, has its new name and description', (own, shown, describe, text) => {
  const bytes = Buffer.from('{"name":"a","description":"old"}');
  assert.equal(renamedTool(bytes, own, shown, { describe }).toString(), text);
});

test('a value that is not an object is unchanged', () => {
  assert.equal(renamedTool(Buffer.from('[]'), 'a', 'b', {}).toString(), '[]');
});
