import assert from 'node:assert/strict';
import { test } from 'vitest';
import { shown } from '#core';
import { membersOf, readMembers, readWhole, refuseBody } from '../../../hub/http/routes/input.ts';

test.each([
  [undefined, undefined],
  ['1', 1],
  ['0100', 100],
])('%s is accepted as a whole number from 1 to 100', (text, expected) => {
  assert.equal(readWhole('limit', text, { least: 1, most: 100 }), expected);
});

test.each(['', '0', '101', '-1', '1.5', 'x'.repeat(100)])(
  '%j is refused as a whole number from 1 to 100',
  text => {
    assert.throws(() => readWhole('limit', text, { least: 1, most: 100 }), {
      code: 'HUB_REQUEST_INVALID',
      message: `limit: ${shown(text)} is not allowed: write a whole number from 1 to 100`,
    });
  },
);

test.each([undefined, null, ''])('a request with the body %j has no fields', body => {
  assert.deepEqual(membersOf(body), {});
});

test.each([[[]], ['text'], [5], [[{ dry_run: true }]]])('the body %j is refused', body => {
  assert.throws(() => membersOf(body), {
    code: 'HUB_REQUEST_INVALID',
    message: /not a JSON object/,
  });
});

test('other members of a body are refused by name', () => {
  assert.deepEqual(readMembers({ a: 1 }, ['a', 'b']), { a: 1 });
  assert.throws(() => readMembers({ a: 1, c: 2 }, ['a', 'b']), {
    code: 'HUB_REQUEST_INVALID',
    message: 'c: is not a member of this body, which takes a, b',
  });
});

test('a name as long as a body is shortened in the error', () => {
  const body = { ['x'.repeat(2 ** 20)]: 1 };
  const short = { message: new RegExp(`^.{0,60}${'x'.repeat(60)}\\.\\.\\..{0,100}$`) };
  assert.throws(() => readMembers(body, ['a']), short);
  assert.throws(() => refuseBody(body, 'POST /prune'), short);
});
