import assert from 'node:assert/strict';
import { test } from 'vitest';
import { paths, withQuery } from '../../hub/dashboard/paths.ts';

test('names of servers and tools are encoded', () => {
  assert.equal(paths.server('a/b'), '/dashboard/servers/a%2Fb');
  assert.equal(paths.tool('a', 'b&c'), '/dashboard/servers/a/tool?name=b%26c');
});

test('a query has the values that are defined', () => {
  assert.equal(withQuery('/a', {}), '/a');
  assert.equal(withQuery('/a', { b: undefined, c: '' }), '/a');
  assert.equal(withQuery('/a', { b: 0, c: 'd e&f' }), '/a?b=0&c=d+e%26f');
});
