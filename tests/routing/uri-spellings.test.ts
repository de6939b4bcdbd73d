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
  ['file:///%zz/%73ecret', ['file:///%zz/%73ecret', 'file:///%zz/secret']],
  ['file:///%2573ecret', ['file:///%2573ecret', 'file:///%73ecret', 'file:///secret']],
  [`db://${'a/../'.repeat(2_000)}b`, [`db://${'a/../'.repeat(2_000)}b`, 'db://a/b']],
])('%s', (uri, spellings) => {
  assert.deepEqual(new Set(spellingsOf(uri)), new Set(spellings));
});

test('an invalid escape sequence hides no other', () => {
  assert.ok(spellingsOf('file:///%FF/%73ecret').some(one => one.endsWith('/secret')));
});

test.each([
  ['FILE:///my%20notes/a', 'file:///my notes/a'],
  ['file:///b/../my notes/a', 'file:///my notes/a'],
  ['file:///b/%2e%2e/%C3%BC', 'file:///ü'],
  ['file:///b/%252e%252e/%25C3%25BC', 'file:///ü'],
  ['FILE:///a"b', 'file:///a"b'],
])('a character that URLs encode is compared unencoded, too: %s is %s', (uri, spelling) => {
  assert.ok(spellingsOf(uri).includes(spelling), spellingsOf(uri).join(' '));
});

test('a URI that is too long to compare is refused', () => {
  assert.throws(() => spellingsOf(`x:${'a'.repeat(65_535)}`), { code: 'HUB_REQUEST_INVALID' });
});
