import assert from 'node:assert/strict';
import { test } from 'vitest';
import { membersOf } from '#jsonrpc';
import { hubCapability, hubIdOf, hubsOf, withHubs } from '#mcp';

const bytesOf = (item: object) => Buffer.from(JSON.stringify(item));

function readHubs(item: Buffer): readonly string[] {
  const members = membersOf(item, { start: 0, end: item.length });
  return hubsOf(item, members ?? assert.fail('no object'));
}

test('the id of a hub is in its capabilities', () => {
  assert.equal(hubIdOf(hubCapability('one')), 'one');
});

test.for([
  [{}],
  [{ experimental: null }],
  [{ experimental: { 'agenthub/hubs': 'one' } }],
  [{ experimental: { 'agenthub/hubs': { id: 1 } } }],
  [{ experimental: { 'agenthub/hubs': { id: '' } } }],
  [{ experimental: { 'agenthub/hubs': { id: 'x'.repeat(65) } } }],
])('%j are capabilities without a hub id', ([capabilities = {}]) => {
  assert.equal(hubIdOf(capabilities), undefined);
});

test.for([
  ['no metadata', { name: 'a' }, { name: 'a' }],
  ['metadata of its own', { _meta: { x: [1] }, name: 'a' }, { _meta: { x: [1] }, name: 'a' }],
  ['the hubs of before', { name: 'a', _meta: { 'agenthub/hubs': ['old'] } }, { name: 'a' }],
] as const)('an item with %s is marked with hubs', ([, item, rest]) => {
  const marked = withHubs(bytesOf(item), ['one', 'two']);
  assert.deepEqual(readHubs(marked), ['one', 'two']);
  const meta = '_meta' in rest ? rest._meta : {};
  assert.deepEqual(JSON.parse(marked.toString()), {
    ...rest,
    _meta: { ...meta, 'agenthub/hubs': ['one', 'two'] },
  });
});

test.for([[{}], [{ _meta: 1 }], [{ _meta: { 'agenthub/hubs': 'one' } }]])(
  '%j has no ids of hubs',
  ([item = {}]) => {
    assert.deepEqual(readHubs(bytesOf(item)), []);
  },
);

test('ids that are not strings are ignored', () => {
  assert.deepEqual(readHubs(bytesOf({ _meta: { 'agenthub/hubs': [1, 'one'] } })), ['one']);
});

test('an item with a duplicate member is unchanged', () => {
  const item = Buffer.from('{"name":"a","name":"b"}');
  assert.equal(withHubs(item, ['one']).toString(), item.toString());
});
