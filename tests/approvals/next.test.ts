import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type ApprovalEvent, type ApprovalState, next } from '../../hub/approvals/next.ts';

const pending: ApprovalState = { kind: 'pending', expiresAt: 100 };
const approved: ApprovalState = { kind: 'approved', by: 'owner', expiresAt: 100 };
const denied: ApprovalState = { kind: 'denied', by: 'owner', expiresAt: 100 };
const used: ApprovalState = { kind: 'used' };
const expired: ApprovalState = { kind: 'expired' };
const withdrawn: ApprovalState = { kind: 'withdrawn' };

const events = (at: number) =>
  ({
    approve: { type: 'approve', at, by: 'ada', expiresAt: 200 },
    deny: { type: 'deny', at, by: 'ada', expiresAt: 200 },
    use: { type: 'use', at },
    withdraw: { type: 'withdraw', at },
    look: { type: 'look', at },
  }) as const satisfies Readonly<Record<string, ApprovalEvent>>;

const approvedByAda = { kind: 'approved', by: 'ada', expiresAt: 200 };
const deniedByAda = { kind: 'denied', by: 'ada', expiresAt: 200 };

/** State after each event before the expiry. Events that are not listed change nothing. */
const table: readonly (readonly [
  ApprovalState,
  { readonly [type in ApprovalEvent['type']]?: object },
])[] = [
  [pending, { approve: approvedByAda, deny: deniedByAda, withdraw: withdrawn }],
  [approved, { deny: deniedByAda, use: used }],
  [denied, {}],
  [used, {}],
  [expired, {}],
  [withdrawn, {}],
];

describe.each(table)('an approval in the state %o', (state, changes) => {
  test.each(Object.values(events(99)))('after $type in time', event => {
    assert.deepEqual(next(state, event), changes[event.type] ?? state);
  });

  test.each(Object.values(events(100)))('after $type when it has expired', event => {
    assert.deepEqual(next(state, event), 'expiresAt' in state ? expired : state);
  });
});
