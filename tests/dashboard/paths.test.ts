import assert from 'node:assert/strict';
import { test } from 'vitest';
import { paths, withQuery } from '../../hub/dashboard/paths.ts';

test('names of servers and tools are encoded', () => {
  assert.equal(paths.server('a/b'), '/dashboard/servers/a%2Fb');
  assert.equal(paths.tool('a', 'b&c'), '/dashboard/servers/a/tool?name=b%26c');
});

test('names that no URL can contain have a path, too', () => {
  assert.equal(paths.tool('a', 'b\ud800'), '/dashboard/servers/a/tool?name=b%EF%BF%BD');
});

test('a query has the values that are defined', () => {
  assert.equal(withQuery('/a', {}), '/a');
  assert.equal(withQuery('/a', { b: undefined, c: '' }), '/a');
  assert.equal(withQuery('/a', { b: 0, c: 'd e&f' }), '/a?b=0&c=d+e%26f');
});
