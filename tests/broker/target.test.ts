import assert from 'node:assert/strict';
import { test } from 'vitest';
import { parseTarget, show } from '../../hub/broker/target.ts';

test.each([
  ['/_ping', '', '/_ping', {}],
  ['/v1.43/containers/json?all=1', '/v1.43', '/containers/json', { all: '1' }],
  ['/images/node:24@sha256:0/json', '', '/images/node:24@sha256:0/json', {}],
  ['/events?filters=%7B%7D&since=1', '', '/events', { filters: '{}', since: '1' }],
])('%s is read', (target, version, path, query) => {
  const parsed = parseTarget(target);
  assert.deepEqual(
    { ...parsed, query: Object.fromEntries(parsed.query) },
    { version, path, query },
  );
});

test.each([
  '',
  '/',
  'containers/json',
  'http://engine/containers/json',
  '/containers/%6a',
  '/containers//json',
  '/containers/./json',
  '/containers/../json',
  '/containers/json/',
  '/containers/json#a',
  '/containers/json?a=1?b=2',
  '/containers/json?a=1&a=2',
  '/containers\\json',
])('%s is refused', target => {
  assert.throws(() => parseTarget(target), { code: 'HUB_BROKER_REFUSED' });
});

test('a value is shown as JSON, and a long one is cut', () => {
  assert.equal(show('a\n'), '"a\\n"');
  assert.equal(show(undefined), 'undefined');
  assert.equal(show('x'.repeat(200)), `"${'x'.repeat(119)}...`);
});
