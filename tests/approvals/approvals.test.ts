import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { AskedCall } from '#approvals';
import { createManualClock } from '#helpers/clock';
import { createFaultyDisk } from '../store/journal-disks.ts';
import { lifetimeMs, openTestApprovals } from './test-approvals.ts';

const call = (more: Partial<AskedCall> = {}): AskedCall => ({
  caller: 'client:cursor',
  client: 'cursor',
  server: 'files',
  entry: 'e1',
  tool: 'files_delete',
  ownTool: 'delete',
  hash: 'a'.repeat(64),
  args: '{"path":"a"}',
  rule: 'policy[0]',
  reason: undefined,
  ...more,
});

const others: readonly Partial<AskedCall>[] = [
  { caller: 'client:other' },
  { server: 'notes' },
  { entry: 'e2' },
  { ownTool: 'write' },
  { hash: 'b'.repeat(64) },
];

describe('an approved call', () => {
  test('is admitted once', async () => {
    const { approvals } = await openTestApprovals();
    const { id } = await approvals.ask(call(), true);
    assert.equal(await approvals.admit(call()), undefined);
    await approvals.approve(id, 'owner');
    assert.equal(await approvals.admit(call()), 'approved');
    assert.equal(await approvals.admit(call()), undefined);
    assert.deepEqual(approvals.list(), []);
  });

  test('is admitted once when many equal calls arrive at the same time', async () => {
    const { approvals } = await openTestApprovals();
    const { id } = await approvals.ask(call(), true);
    await approvals.approve(id, 'owner');
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => approvals.admit(call())));
    assert.equal(outcomes.filter(one => one === 'approved').length, 1);
  });

  test.each(others)('admits no call with %o', async other => {
    const { approvals } = await openTestApprovals();
    const { id } = await approvals.ask(call(), true);
    await approvals.approve(id, 'owner');
    assert.equal(await approvals.admit(call(other)), undefined);
  });

  test('expires if its client does not repeat it', async () => {
    const clock = createManualClock();
    const { approvals, recorded } = await openTestApprovals({ clock });
    const { id } = await approvals.ask(call(), true);
    clock.advance(lifetimeMs - 1);
    await approvals.approve(id, 'owner');
    clock.advance(lifetimeMs - 1);
    assert.equal(approvals.list().length, 1);
    clock.advance(1);
    assert.equal(await approvals.admit(call()), undefined);
    assert.deepEqual(
      recorded.map(({ action }) => action),
      ['approval_approved', 'approval_expired'],
    );
  });

  test('is not admitted before its approval is on the disk', async () => {
    const disk = createFaultyDisk();
    const { approvals, recorded } = await openTestApprovals({ disk });
    const { id } = await approvals.ask(call(), true);
    const waits = approvals
      .wait(id, new AbortController().signal)
      .then(async () => await approvals.admit(call()));
    disk.fail(1, 1);
    const failed = assert.rejects(approvals.approve(id, 'owner'), {
      code: 'HUB_APPROVAL_STORE_FAILED',
    });
    assert.equal(await approvals.admit(call()), undefined);
    await failed;
    assert.deepEqual(recorded, []);
    await approvals.approve(id, 'owner');
    assert.equal(await waits, 'approved');
  });

  test('can be denied until it is used', async () => {
    const { approvals } = await openTestApprovals();
    const { id } = await approvals.ask(call(), true);
    await approvals.approve(id, 'owner');
    await approvals.deny(id, 'owner');
    assert.equal(await approvals.admit(call()), 'denied');
    await assert.rejects(approvals.approve(id, 'owner'), { code: 'HUB_APPROVAL_DENIED' });
  });
});

describe('a waiting call', () => {
  test('is shared by equal calls that allow sharing, and expires', async () => {
    const clock = createManualClock();
    const { approvals } = await openTestApprovals({ clock });
    const { id } = await approvals.ask(call(), true);
    assert.equal((await approvals.ask(call(), true)).id, id);
    assert.notEqual((await approvals.ask(call(), false)).id, id);
    assert.equal(approvals.waiting, 2);
    clock.advance(lifetimeMs);
    assert.equal(approvals.waiting, 0);
    await assert.rejects(approvals.approve(id, 'owner'), { code: 'HUB_APPROVAL_UNKNOWN' });
  });

  test('is shown without secrets', async () => {
    const { approvals, disk } = await openTestApprovals();
    const secret = 'ghp_0123456789abcdefghij0123456789';
    await approvals.ask(call({ args: JSON.stringify({ token: secret }) }), true);
    assert.doesNotMatch(JSON.stringify(approvals.list()), /ghp_/);
    assert.doesNotMatch(disk.textOf('/data/approvals.jsonl') ?? '', /ghp_/);
  });

  test('is refused above the bounds, in total and for one client', async () => {
    const { approvals } = await openTestApprovals({ maxWaiting: 3, maxWaitingPerClient: 2 });
    const ask = (caller: string, hash: string) => approvals.ask(call({ caller, hash }), true);
    await ask('client:a', '1');
    const { id } = await ask('client:a', '2');
    const full = { code: 'HUB_APPROVALS_FULL' };
    await assert.rejects(ask('client:a', '3'), full);
    await ask('client:b', '1');
    await assert.rejects(ask('client:c', '1'), full);
    approvals.withdraw(id);
    await ask('client:c', '1');
  });
});

describe('a standing approval', () => {
  test('admits every call of its client and tool, and no other, until it is removed', async () => {
    const { approvals, recorded } = await openTestApprovals();
    const { id } = await approvals.ask(call(), true);
    await approvals.approve(id, 'owner', true);
    const other = { hash: 'c'.repeat(64) };
    for (const more of [{}, {}, other]) assert.equal(await approvals.admit(call(more)), 'approved');
    for (const more of others.slice(0, 4))
      assert.equal(await approvals.admit(call(more)), undefined);
    const [standing] = approvals.standing();
    assert.ok(standing);
    await approvals.removeStanding(standing.id, 'owner');
    assert.equal(await approvals.admit(call()), undefined);
    assert.deepEqual(
      recorded.map(({ action, principal }) => [action, principal]),
      [
        ['standing_approval_added', 'owner'],
        ['standing_approval_removed', 'owner'],
      ],
    );
  });
});

test('a standing approval whose removal cannot be written stays, also after a kill, and can be removed later', async () => {
  const first = await openTestApprovals();
  const { id } = await first.approvals.ask(call(), true);
  await first.approvals.approve(id, 'owner', true);
  const disk = first.disk.afterKill();
  const { approvals, recorded } = await openTestApprovals({ disk });
  const [standing] = approvals.standing();
  assert.ok(standing);
  disk.fail(1, 1);
  const removing = assert.rejects(approvals.removeStanding(standing.id, 'owner'), {
    code: 'HUB_APPROVAL_STORE_FAILED',
    message: /standing approval stays/,
  });
  assert.equal(await approvals.admit(call()), undefined, 'it may be removed already');
  await removing;
  assert.deepEqual([approvals.standing(), recorded], [[standing], []]);
  assert.equal(await approvals.admit(call()), 'approved');
  const killed = await openTestApprovals({ disk: disk.afterKill() });
  assert.deepEqual(killed.approvals.standing(), [standing]);
  await approvals.removeStanding(standing.id, 'owner');
  const again = await openTestApprovals({ disk: disk.afterKill() });
  assert.deepEqual(again.approvals.standing(), []);
});

test('a denial that comes while a standing approval is being added still denies the call', async () => {
  const { approvals } = await openTestApprovals();
  const { id } = await approvals.ask(call(), true);
  const approving = approvals.approve(id, 'owner', true);
  await approvals.deny(id, 'client:cursor');
  await approving;
  const [standing] = approvals.standing();
  await approvals.removeStanding(standing?.id ?? '', 'owner');
  assert.equal(await approvals.admit(call()), 'denied');
});

test('a denial that cannot be written is effective in this run, and the next one is written', async () => {
  const { approvals, disk } = await openTestApprovals();
  const { id } = await approvals.ask(call(), true);
  await approvals.approve(id, 'owner');
  disk.fail(1, 1);
  await assert.rejects(approvals.deny(id, 'owner'), {
    code: 'HUB_APPROVAL_STORE_FAILED',
    message:
      /the call is denied in this run of the hub only: deny it again\. Make room on its disk$/,
  });
  assert.equal(await approvals.admit(call()), 'denied');
  await approvals.deny(id, 'owner');
  const killed = await openTestApprovals({ disk: disk.afterKill() });
  assert.equal(await killed.approvals.admit(call()), 'denied');
});

describe('after the hub was killed', () => {
  test.each(['afterKill', 'afterPowerFailure'] as const)(
    'waiting, approved and standing approvals are there, and none is used twice (%s)',
    async kind => {
      const first = await openTestApprovals();
      const ask = async (hash: string) => await first.approvals.ask(call({ hash }), true);
      const ids = [
        await ask('waits'),
        await ask('approved'),
        await ask('used'),
        await ask('denied'),
      ];
      await first.approvals.approve(ids[1]?.id ?? '', 'owner');
      await first.approvals.approve(ids[2]?.id ?? '', 'owner');
      await first.approvals.deny(ids[3]?.id ?? '', 'owner');
      assert.equal(await first.approvals.admit(call({ hash: 'used' })), 'approved');
      const always = await first.approvals.ask(call({ ownTool: 'write' }), true);
      await first.approvals.approve(always.id, 'owner', true);

      const { approvals } = await openTestApprovals({ disk: first.disk[kind]() });
      assert.deepEqual(approvals.list(), first.approvals.list());
      assert.deepEqual(approvals.standing(), first.approvals.standing());
      const admit = (hash: string) => approvals.admit(call({ hash }));
      assert.equal(await admit('waits'), undefined);
      assert.equal(await admit('used'), undefined);
      assert.equal(await admit('denied'), 'denied');
      assert.equal(await admit('approved'), 'approved');
      assert.equal(await admit('approved'), undefined);
    },
  );

  test('a call is admitted at most once, wherever a write fails', async () => {
    // In each run, all disk operations from number `at` on fail; the next run reads what is on the disk.
    for (let at = 1; at < 14; at++) {
      const disk = createFaultyDisk();
      const first = await openTestApprovals({ disk });
      const { id } = await first.approvals.ask(call(), true);
      disk.fail(at);
      let admitted = 0;
      await first.approvals.approve(id, 'owner').catch(() => undefined); // The disk may be full.
      if ((await first.approvals.admit(call()).catch(() => undefined)) === 'approved') admitted++;
      for (const left of [disk.afterKill(), disk.afterPowerFailure()]) {
        const { approvals } = await openTestApprovals({ disk: left });
        const again = (await approvals.admit(call())) === 'approved' ? 1 : 0;
        assert.ok(admitted + again <= 1, `operation ${at}`);
      }
    }
  });

  test('records that are incomplete approve nothing', async () => {
    const text = (value: unknown) => Buffer.from(`${JSON.stringify(value)}\n`);
    const whole = { ...call(), id: 'x1', shown: '{}', createdAt: 1 };
    const lines = [
      { approval: { ...whole, state: { kind: 'approved', expiresAt: 1e15 } } },
      { approval: { ...whole, id: 'x2', hash: 1, state: { kind: 'pending', expiresAt: 1e15 } } },
      { approval: { ...whole, id: 'x3', state: { kind: 'used' } } },
      { standing: { ...whole } },
      'approved',
    ];
    const disk = createFaultyDisk({
      '/data/approvals.jsonl': Buffer.concat(lines.map(text)),
    });
    const { approvals } = await openTestApprovals({ disk });
    assert.deepEqual([approvals.list(), approvals.standing()], [[], []]);
  });
});
