import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  type Principal,
  isSamePrincipal,
  policyNameOf,
  principalNamed,
  principalKey,
} from '#policy';

const local = { kind: 'local', name: 'owner', grants: { administer: false } } as const;

test.each<readonly [what: string, other: Principal, isSame: boolean]>([
  ['itself', local, true],
  ['the same kind and name with other grants', { ...local, grants: { administer: true } }, true],
  ['the same name of another kind', { ...local, kind: 'agent' }, false],
  ['another name', { ...local, name: 'token' }, false],
])('a principal and %s', (_what, other, isSame) => {
  assert.equal(isSamePrincipal(local, other), isSame);
  assert.equal(principalKey(local) === principalKey(other), isSame);
});

test('the key of a principal names its kind', () => {
  assert.equal(principalKey(local), 'local:owner');
});

test.each([
  ['local', 'owner', 'owner'],
  ['client', 'cursor', 'cursor'],
  ['agent', 'cursor', 'agent:cursor'],
  ['job', 'nightly', 'job:nightly'],
] as const)('the policy calls the %s %s by the name %s', (kind, name, policyName) => {
  const principal: Principal = { kind, name, grants: { administer: false } };
  assert.equal(policyNameOf(principal), policyName);
  if (kind === 'client' || kind === 'agent')
    assert.deepEqual(principalNamed(policyName), principal);
});
