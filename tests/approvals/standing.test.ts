import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { createStandingApprovals } from '../../hub/approvals/standing.ts';

const one = (id: string, ownTool = id) => ({
  id,
  caller: 'client:cursor',
  client: 'cursor',
  server: 'files',
  entry: 'e1',
  tool: `files_${ownTool}`,
  ownTool,
  createdAt: 1,
  by: 'owner',
});

function open({ isWritten = true } = {}) {
  const decided: string[] = [];
  const standing = createStandingApprovals({
    append: async () => isWritten,
    unwritten: () => new HubError('HUB_APPROVAL_STORE_FAILED', 'full'),
    decided: (action, by, { id }) => void decided.push(`${action} ${by} ${id}`),
  });
  return { standing, decided };
}

test('each pair of client and tool has one standing approval', async () => {
  const { standing, decided } = open();
  await standing.add(one('a', 'delete'));
  await standing.add(one('b', 'delete'));
  assert.deepEqual(standing.all(), [one('a', 'delete')]);
  assert.ok(standing.admits(one('c', 'delete')));
  assert.ok(!standing.admits(one('c', 'write')));
  assert.deepEqual(decided, ['standing_approval_added owner a']);
});

test('one that cannot be written admits nothing and is not audited', async () => {
  const { standing, decided } = open({ isWritten: false });
  await assert.rejects(standing.add(one('a')), { code: 'HUB_APPROVAL_STORE_FAILED' });
  assert.ok(!standing.admits(one('a')));
  assert.deepEqual(decided, []);
});

test('one that is being written admits nothing, and a second one waits for it', async () => {
  const written = Promise.withResolvers<boolean>();
  const standing = createStandingApprovals({
    append: async () => await written.promise,
    unwritten: () => new HubError('HUB_APPROVAL_STORE_FAILED', 'full'),
    decided: () => undefined,
  });
  const failed = { code: 'HUB_APPROVAL_STORE_FAILED' };
  const adding = ['a', 'b'].map(id => assert.rejects(standing.add(one(id, 'delete')), failed));
  assert.ok(!standing.admits(one('c', 'delete')));
  written.resolve(false);
  await Promise.all(adding);
  assert.deepEqual(standing.all(), []);
});

test('1000 are allowed at most, and an unknown one cannot be removed', async () => {
  const { standing } = open();
  for (let index = 0; index < 1_000; index++) await standing.add(one(`t${index}`));
  await assert.rejects(standing.add(one('more')), { code: 'HUB_APPROVALS_FULL' });
  await assert.rejects(standing.remove('more', 'owner'), { code: 'HUB_APPROVAL_UNKNOWN' });
  await standing.remove('t0', 'owner');
  await standing.add(one('more'));
});
