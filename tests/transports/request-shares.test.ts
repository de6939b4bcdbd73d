import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { caller } from '#helpers/principal';
import type { Principal } from '#policy';
import { createRequestShares } from '../../hub/transports/request-shares.ts';

const client = (name: string): Principal => ({
  kind: 'client',
  name,
  grants: { administer: false },
});

describe('a named client', () => {
  test('has at most half of all unanswered requests, and room again after an answer', () => {
    const shares = createRequestShares(4);
    for (let count = 0; count < 2; count++) shares.add(client('mallory'));
    assert.match(shares.refusal(client('mallory'), 2) ?? '', /^2 requests of "mallory"/);
    assert.equal(shares.refusal(client('alice'), 2), undefined);
    shares.remove(client('mallory'));
    assert.equal(shares.refusal(client('mallory'), 2), undefined);
  });

  test('is counted by its name, whatever the profile of its endpoint', () => {
    const shares = createRequestShares(4);
    shares.add({ ...client('mallory'), profile: 'work' });
    shares.add(client('mallory'));
    assert.match(shares.refusal({ ...client('mallory'), profile: 'home' }, 2) ?? '', /mallory/);
  });
});

test('local callers have no share, but the maximum of all', () => {
  const shares = createRequestShares(4);
  for (let count = 0; count < 3; count++) shares.add(caller);
  assert.equal(shares.refusal(caller, 3), undefined);
  assert.equal(shares.refusal(caller, 4), '4 requests are unanswered. Try again later');
});
