import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { flag, parseTarget, rebuildFilters, rebuildQuery } from '../../hub/broker/target.ts';

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

describe('a query', () => {
  test('is rebuilt from the admitted parameters', () => {
    assert.equal(rebuildQuery(new Map([['all', '1']]), { all: flag }).toString(), 'all=1');
  });

  test.each([
    ['an unknown parameter', 'limit', '1', /the parameter "limit"/],
    ['a parameter in another case', 'ALL', '1', /the parameter "ALL"/],
    ['a parameter that every object has', 'constructor', '1', /the parameter "constructor"/],
    ['a value that is not admitted', 'all', '1&size=1', /"1&size=1" as the parameter "all"/],
  ])('is refused with %s', (_, name, value, message) => {
    assert.throws(() => rebuildQuery(new Map([[name, value]]), { all: flag }), { message });
  });
});

describe('filters', () => {
  const label = 'io.agenthub.hub=a';

  test.each([
    ['nothing', undefined, { label: [label] }],
    ['the label itself', `{"label":["${label}"]}`, { label: [label] }],
    ["another hub's label, which is joined by and", '{"label":["b=c"]}', { label: [label, 'b=c'] }],
    ['a kind of event', '{"type":["container"]}', { type: ['container'], label: [label] }],
  ])('hold the label of the hub, given %s', (_, text, expected) => {
    assert.deepEqual(JSON.parse(rebuildFilters(text, label, ['type', 'event'])), expected);
  });

  test.each([
    '[]',
    'null',
    '{',
    '{"name":["x"]}',
    '{"Label":["x"]}',
    '{"label":"x"}',
    '{"label":[1]}',
    '{"label":{"x":true}}',
  ])('are refused: %s', text => {
    assert.throws(() => rebuildFilters(text, label, ['type']), { code: 'HUB_BROKER_REFUSED' });
  });
});
