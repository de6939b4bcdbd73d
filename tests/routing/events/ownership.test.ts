import assert from 'node:assert/strict';
import { test } from 'vitest';
import { caller } from '#helpers/principal';
import { createOwnership } from '../../../hub/routing/events/ownership.ts';
import { createSessionState } from '../../../hub/routing/session.ts';

const openSession = () =>
  createSessionState(
    '1',
    {
      endpoint: 'all',
      principal: caller,
      send() {},
      isConnected: () => true,
      isSessionless: false,
    },
    { forward() {} },
  );

test('claims of a session beyond its bound push the oldest out', () => {
  const claims = createOwnership<undefined>(3);
  const [ada, source] = [openSession(), {}];
  for (const id of ['a', 'b', 'c', 'd']) claims.add(ada, { source, id, about: undefined });
  claims.add(ada, { source, id: 'd', about: undefined });
  assert.deepEqual(
    claims.of(ada).map(({ id }) => id),
    ['b', 'c', 'd'],
  );
  assert.equal(claims.ownerOf(source, 'a'), undefined);
  assert.equal(claims.ownerOf(source, 'b'), ada);
  assert.equal(claims.size, 3);
});

test('a claim that two have is nobody else alone until one of them gives it up', () => {
  const claims = createOwnership<undefined>(3);
  const [ada, eve, source, other] = [openSession(), openSession(), {}, {}];
  for (const session of [ada, eve]) claims.add(session, { source, id: 'x', about: undefined });
  assert.equal(claims.ownerOf(source, 'x'), undefined);
  assert.equal(claims.ownerOf(other, 'x'), undefined);
  claims.removeAll(ada);
  assert.equal(claims.ownerOf(source, 'x'), eve);
  claims.add(ada, { source, id: 'x', about: undefined });
  claims.remove(eve, source, 'x');
  assert.equal(claims.ownerOf(source, 'x'), ada);
  assert.deepEqual(claims.of(eve), []);
  claims.removeAll(ada);
  assert.equal(claims.size, 0);
});

test('what was claimed at a source goes with it, and nothing else does', () => {
  const claims = createOwnership<undefined>(3);
  const [ada, eve, source, other] = [openSession(), openSession(), {}, {}];
  claims.add(ada, { source, id: 'x', about: undefined });
  claims.add(ada, { source: other, id: 'x', about: undefined });
  claims.add(eve, { source, id: 'y', about: undefined });
  claims.sourceGone(source);
  assert.deepEqual(
    [claims.ownerOf(source, 'x'), claims.ownerOf(source, 'y')],
    [undefined, undefined],
  );
  assert.deepEqual([claims.of(ada).length, claims.of(eve).length], [1, 0]);
  assert.equal(claims.ownerOf(other, 'x'), ada);
});
