import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createOpenApprovals } from '../../hub/approvals/open-approvals.ts';

const one = (id: string, caller: string, hash = id) => ({
  id,
  caller,
  client: caller,
  server: 'files',
  entry: 'e1',
  tool: 'files_delete',
  ownTool: 'delete',
  hash,
  shown: '{}',
  rule: undefined,
  reason: undefined,
  createdAt: 1,
  state: { kind: 'pending', expiresAt: 2 } as const,
});

test('the number is bounded for each principal, and in total', () => {
  const open = createOpenApprovals(() => ({ maxWaiting: 3, maxWaitingPerClient: 2 }));
  for (const id of ['a', 'b']) open.keep(one(id, 'ada'));
  open.keep(one('a', 'ada'));
  assert.throws(() => open.checkRoom('ada'), /max_waiting_per_client/);
  open.checkRoom('bob');
  open.keep(one('c', 'bob'));
  assert.throws(() => open.checkRoom('bob'), /max_waiting in/);
  open.drop(one('a', 'ada'));
  open.drop(one('a', 'ada'));
  open.checkRoom('ada');
});

test('a call finds the approvals of its client, tool and arguments', () => {
  const open = createOpenApprovals(() => ({ maxWaiting: 9, maxWaitingPerClient: 9 }));
  const [mine, again, others] = [one('a', 'ada', 'x'), one('b', 'ada', 'x'), one('c', 'bob', 'x')];
  for (const approval of [mine, again, others, one('d', 'ada', 'y')]) open.keep(approval);
  assert.deepEqual(open.of(mine), [mine, again]);
  assert.deepEqual(open.all().length, 4);
  assert.equal(open.find('e'), undefined);
});
