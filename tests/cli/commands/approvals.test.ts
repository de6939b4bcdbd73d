import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isObject } from '#core';
import { startHub } from '#helpers/hub';
import { openTestApprovals } from '../../approvals/test-approvals.ts';
import { at } from '../../routing/modern.ts';
import { createTestAccess } from '../../routing/test-access.ts';
import { run } from '../run.ts';

const fixtures = [{ name: 'echo' }];

async function open() {
  const { approvals } = await openTestApprovals();
  const { access } = createTestAccess(fixtures, {
    policy: [{ tools: ['echo_echo'], action: 'confirm' }],
  });
  const hub = await startHub(fixtures, { access, approvals });
  const cli = (...args: readonly string[]) => run(args, { findHub: async () => hub.place });
  const call = async (text: string) => {
    const answer = await fetch(`${hub.url}/mcp/echo/tools/call`, {
      method: 'POST',
      body: JSON.stringify({ name: 'echo', arguments: { text } }),
    });
    const body: unknown = await answer.json();
    const data = at(body, 'error', 'data');
    const error = isObject(data) ? data : {};
    return { status: answer.status, id: String(error['approval']), code: error['code'] };
  };
  return { cli, call, [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose]() };
}

test('approve admits a waiting call once, and approvals lists it', async () => {
  await using scene = await open();
  assert.equal((await scene.cli('approvals')).out, 'No call waits for a person.');
  const { id } = await scene.call('a\u001b[2Jb');
  const listed = await scene.cli('approvals');
  assert.match(listed.out, new RegExp(`^ID .*ARGUMENTS\n${id} +pending +local +echo_echo +\\d+m `));
  assert.ok(!listed.out.includes('\u001b'));
  const { code, out } = await scene.cli('approve', id);
  assert.deepEqual([code, out.split('\n')[0]], [0, 'The call of echo_echo by local is approved.']);
  assert.equal((await scene.call('a\u001b[2Jb')).status, 200);
  assert.equal((await scene.call('a\u001b[2Jb')).code, 'HUB_APPROVAL_NEEDED');
});

test('deny refuses a call, and approve --always is valid until it is removed', async () => {
  await using scene = await open();
  const first = await scene.call('a');
  assert.match(
    (await scene.cli('deny', first.id)).out,
    /^The call of echo_echo by local is denied/,
  );
  assert.equal((await scene.call('a')).code, 'HUB_APPROVAL_DENIED');
  const second = await scene.call('b');
  const { out } = await scene.cli('approve', second.id, '--always');
  assert.match(out, /^All calls of echo_echo by local are approved\./);
  assert.equal((await scene.call('c')).status, 200);
  const { out: json } = await scene.cli('approvals', '--json');
  const [standing] = JSON.parse(json).standing;
  assert.match((await scene.cli('approvals')).out, /Approved for good:\n/);
  await scene.cli('approvals', 'remove', standing.id);
  assert.equal((await scene.call('c')).code, 'HUB_APPROVAL_NEEDED');
});

test.each([
  [['approve', 'x'], 1, /no approval "x" waits/],
  [['deny', 'x'], 1, /no approval "x" waits/],
  [['approvals', 'remove', 'x'], 1, /no standing approval "x" exists/],
  [['approvals', 'remove'], 2, /write "agenthub approvals"/],
  [['approve'], 2, /id/],
])('%j fails with a reason', async (args, code, message) => {
  await using scene = await open();
  const failed = await scene.cli(...args);
  assert.equal(failed.code, code);
  assert.match(failed.err, message);
});
