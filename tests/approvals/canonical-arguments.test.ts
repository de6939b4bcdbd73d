import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { canonicalArguments, hashOf } from '#approvals';

const canonical = (text: string) => canonicalArguments(Buffer.from(text));

describe('canonical arguments', () => {
  test.each([
    ['{ "b" : 1 , "a" : [ true , null ] }', '{"a":[true,null],"b":1}'],
    ['{"a":{"d":"\\u0065","c":""}}', '{"a":{"c":"","d":"e"}}'],
    ['{"\\u0061":1}', '{"a":1}'],
    ['{"n":9007199254740993}', '{"n":9007199254740993}'],
    ['{"n":1.0}', '{"n":1.0}'],
    ['{}', '{}'],
  ])('of %s are %s', (text, expected) => {
    assert.equal(canonical(text), expected);
  });

  test('with the same members in another order have one hash', () => {
    assert.equal(hashOf(canonical('{"a":1,"b":2}')), hashOf(canonical('{"b":2,"a":1}')));
  });

  test.each([
    ['{"a":"\u00e9"}', '{"a":"e\u0301"}'],
    ['{"a":"\\ud800"}', '{"a":"\\ufffd"}'],
    ['{"n":1}', '{"n":1.0}'],
    ['{"n":1}', '{"n":1e0}'],
    ['{"n":0}', '{"n":-0}'],
    ['{"n":1}', '{"n":"1"}'],
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{}', '{"a":null}'],
    ['{"a":{}}', '{"a":{"__proto__":1}}'],
  ])('%s and %s differ', (one, other) => {
    assert.notEqual(hashOf(canonical(one)), hashOf(canonical(other)));
  });

  test('differ for numbers that become equal when they are parsed', () => {
    assert.notEqual(canonical('{"n":9007199254740993}'), canonical('{"n":9007199254740992}'));
  });

  test.each([
    ['{"path":"a","path":"b"}', /stands twice/],
    ['{"deep":[{"path":"a","\\u0070ath":"b"}]}', /stands twice/],
    [`${'['.repeat(70)}${']'.repeat(70)}`, /64 levels/],
  ])('of %s are refused', (text, message) => {
    assert.throws(() => canonical(text), { code: 'HUB_REQUEST_INVALID', message });
  });
});
