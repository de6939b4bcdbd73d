import assert from 'node:assert/strict';
import { test } from 'vitest';
import { spellingsOf } from '../../hub/routing/uri-spellings.ts';

test.each([
  ['file:///a/b', ['file:///a/b']],
  ['file:///a/../secret', ['file:///a/../secret', 'file:///secret']],
  ['FILE:///a', ['FILE:///a', 'file:///a']],
  ['file:///%73ecret', ['file:///%73ecret', 'file:///secret']],
  ['file:///a/%2e%2e/secret', ['file:///a/%2e%2e/secret', 'file:///secret', 'file:///a/../secret']],
  ['file:///a/..%2Fsecret', ['file:///a/..%2Fsecret', 'file:///a/../secret', 'file:///secret']],
  ['db://rows/a/../b', ['db://rows/a/../b', 'db://rows/b']],
  ['file:///100%', ['file:///100%']],
  ['no uri', ['no uri']],
  [`x:${'a/../'.repeat(2_000)}`, [`x:${'a/../'.repeat(2_000)}`]],
])('%s', (uri, spellings) => {
  assert.deepEqual(new Set(spellingsOf(uri)), new Set(spellings));
});
