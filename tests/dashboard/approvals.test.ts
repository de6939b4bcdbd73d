import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { AskedCall } from '#approvals';
import { startHub } from '#helpers/hub';
import { openTestApprovals } from '../approvals/test-approvals.ts';
import { leadsTo, owner, visitor } from './scene.ts';

const call = (more: Partial<AskedCall> = {}): AskedCall => ({
  caller: 'client:cursor',
  client: 'cursor',
  server: 'files',
  entry: 'e1',
  tool: 'files_delete',
  ownTool: 'delete',
  hash: 'a'.repeat(64),
  args: '{"path":"<script>"}',
  rule: 'policy[0]',
  reason: 'it deletes',
  ...more,
});

async function open() {
  const { approvals, recorded } = await openTestApprovals();
  const hub = await startHub([], { approvals });
  return {
    approvals,
    recorded,
    owner: owner(hub),
    anybody: visitor(hub),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

/** Returns the number in the badge of the navigation; undefined if there is no badge. */
const badgeIn = (text: string) =>
  /id="approvals-badge"[^>]*>\s*<span class="badge warn">(\d+)/.exec(text)?.[1];

describe('the page of approvals', () => {
  test('shows waiting approvals, and its buttons decide', async () => {
    await using scene = await open();
    const once = await scene.approvals.ask(call(), false);
    const always = await scene.approvals.ask(call({ hash: 'b', ownTool: 'move' }), false);
    const denied = await scene.approvals.ask(call({ hash: 'c' }), false);
    const { text } = await scene.owner.get('/dashboard/approvals');
    assert.match(text, /files_delete/);
    assert.match(text, /\{&quot;path&quot;:&quot;&lt;script&gt;&quot;\}/);
    assert.match(text, /it deletes/);
    assert.equal(badgeIn(text), '3');
    for (const [action, { id }, said] of [
      ['approve', once, 'Approved for one call'],
      ['approve-always', always, 'Approved, with all later calls of this client'],
      ['deny', denied, 'Denied'],
    ] as const) {
      const sent = await scene.owner.post(`/dashboard/actions/${action}/${id}`);
      const page = await scene.owner.get(leadsTo(sent));
      assert.match(page.text, new RegExp(`notice good">${said}`));
    }
    assert.equal(await scene.approvals.admit(call()), 'approved');
    assert.equal(await scene.approvals.admit(call({ hash: 'x', ownTool: 'move' })), 'approved');
    assert.equal(await scene.approvals.admit(call({ hash: 'c' })), 'denied');
    const [standing] = scene.approvals.standing();
    await scene.owner.post(`/dashboard/actions/approval-remove/${standing?.id ?? ''}`);
    assert.deepEqual(scene.approvals.standing(), []);
    assert.equal(badgeIn((await scene.owner.get('/dashboard')).text), undefined);
    assert.equal(
      scene.recorded.every(({ principal }) => principal === 'owner' || !principal),
      true,
    );
  });

  test('is for the owner only, and so are its badge and its buttons', async () => {
    await using scene = await open();
    const { id } = await scene.approvals.ask(call(), false);
    const overview = await scene.anybody.get('/dashboard');
    assert.equal(overview.status, 200);
    assert.doesNotMatch(overview.text, /approvals-badge/);
    for (const path of ['/dashboard/approvals', '/dashboard/approvals-badge'])
      assert.equal((await scene.anybody.get(path)).status, 401);
    assert.equal((await scene.anybody.post(`/dashboard/actions/approve/${id}`)).status, 401);
    assert.equal(scene.approvals.waiting, 1);
  });

  test('says why an approval that has ended cannot be decided', async () => {
    await using scene = await open();
    const answer = await scene.owner.post('/dashboard/actions/approve/gone');
    assert.equal(answer.status, 404);
    assert.match(answer.text, /no approval &quot;gone&quot; waits/);
  });
});
