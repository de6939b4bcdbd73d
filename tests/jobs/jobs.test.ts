import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/hub';
import { type JobsNeeds, createJobs, maxJobs } from '#jobs';
import { createJournal } from '#store';
import { redactJson, redactText } from '#telemetry';
import { createFaultyDisk } from '../store/journal-disks.ts';

const secret = 'sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz';
const file = '/data/jobs.jsonl';

function createScene(disk?: ReturnType<typeof createFaultyDisk>) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  let ids = 0;
  const needs: JobsNeeds = {
    clock,
    log,
    newId: () => `job-${++ids}`,
    redaction: { text: redactText, json: redactJson },
    ...(disk && {
      openJournal: snapshot =>
        createJournal({ file, maxBytes: 2 ** 20, snapshot }, { log, disk: disk.disk }),
    }),
  };
  const jobs = createJobs(needs);
  const reasons: HubError[] = [];
  return {
    clock,
    logged,
    jobs,
    /** Reasons with which jobs were cancelled. */
    reasons,
    begin: (title = 'Install x') =>
      jobs.begin({
        kind: 'install',
        title,
        principal: 'owner',
        cancel: reason => void reasons.push(reason),
      }),
  };
}

describe('a job', () => {
  test('has its data, its newest step as progress, and its output lines', () => {
    const { jobs, begin, clock } = createScene();
    const job = begin();
    clock.advance(5);
    job.report({ step: 'build', text: 'x is installed' });
    job.report({ step: 'build', text: 'npm warn something' });
    job.report({ step: 'trial', text: 'it is started once' });
    const startedAt = clock.now() - 5;
    const facts = { id: 'job-1', kind: 'install', title: 'Install x', principal: 'owner' };
    const progress = { step: 'trial', text: 'it is started once' };
    assert.deepEqual(jobs.list(), [{ ...facts, startedAt, progress, state: 'running' }]);
    assert.deepEqual(
      jobs.linesOf(job.id).map(({ text }) => text),
      ['x is installed', 'npm warn something', 'it is started once'],
    );
    job.done({ name: 'x' });
    assert.deepEqual(jobs.get(job.id), {
      ...facts,
      startedAt,
      progress,
      state: 'done',
      endedAt: clock.now(),
      result: { name: 'x' },
    });
  });

  test('has the text of the hub as progress, never that of an installer', () => {
    const { jobs, begin } = createScene();
    const job = begin();
    job.report({ step: 'build', text: 'x is installed' });
    job.report({ step: 'build', text: 'a line of the installer' });
    assert.equal(jobs.get(job.id).progress?.text, 'x is installed');
  });

  test.each([
    [new HubError('HUB_PACKAGE_UNKNOWN', 'no such package'), 'failed', 'no such package'],
    [new HubError('HUB_CALL_CANCELLED', 'it was cancelled'), 'cancelled', 'it was cancelled'],
    [new HubError('HUB_SHUTTING_DOWN', 'the hub stops'), 'interrupted', 'the hub stops'],
    [new TypeError('of the inside'), 'failed', 'the hub failed; its log says why under job-1'],
  ] as const)('that ends with %s is %s', (error, state, message) => {
    const { jobs, begin, logged } = createScene();
    const job = begin();
    job.failed(error);
    const ended = jobs.get(job.id);
    assert.equal(ended.state, state);
    assert.equal('error' in ended && ended.error.message, message);
    assert.equal(JSON.stringify(logged).includes('of the inside'), error instanceof TypeError);
    job.done({});
    job.report({ step: 'late', text: 'late' });
    assert.equal(jobs.get(job.id), ended, 'an ended job does not change');
  });

  test('has no secret in its title, progress, lines, error or result', () => {
    const disk = createFaultyDisk();
    const { jobs, begin } = createScene(disk);
    const failing = begin(`Install x?key=${secret}`);
    failing.report({ step: 'build', text: `with ${secret}` });
    failing.failed(new HubError('HUB_PACKAGE_UNKNOWN', `no ${secret}`));
    begin().done({ name: 'x', warnings: [`it has ${secret}`], password: 'hunter2hunter2' });
    const shown = JSON.stringify([jobs.list(), jobs.linesOf(failing.id)]);
    assert.ok(!shown.includes(secret) && !shown.includes('hunter2'), shown);
    assert.equal(shown.split('[redacted]').length, 7);
  });

  test('is bounded in its title, lines, message and result', () => {
    const { jobs, begin } = createScene();
    const long = 'word '.repeat(2_000);
    const job = begin(long);
    for (let at = 0; at < 400; at++) job.report({ step: 'build', text: `${at} ${long}` });
    const lines = jobs.linesOf(job.id);
    assert.equal(lines.length, 300);
    assert.ok(lines[0]?.text.startsWith('100 ') && lines.every(({ text }) => text.length <= 500));
    assert.equal(jobs.get(job.id).title.length, 200);
    job.done({ long });
    const ended = jobs.get(job.id);
    assert.deepEqual('result' in ended && ended.result, {});
  });
});

describe('the list of jobs', () => {
  test('is newest first, and drops the oldest ended job first', () => {
    const { jobs, begin } = createScene();
    const first = begin();
    const second = begin();
    second.done({});
    for (let at = 2; at < maxJobs + 3; at++) begin().done({});
    const ids = jobs.list().map(({ id }) => id);
    assert.equal(ids.length, maxJobs);
    assert.equal(ids[0], `job-${maxJobs + 3}`);
    assert.equal(ids.at(-1), first.id, 'a running job stays');
    assert.throws(() => jobs.get(second.id), { code: 'HUB_JOB_UNKNOWN' });
  });

  test('fires a change for each line and each end', () => {
    const { jobs, begin } = createScene();
    let changes = 0;
    using _ = jobs.changed(() => changes++);
    const job = begin();
    job.report({ step: 'a', text: '1' });
    job.report({ step: 'a', text: '2' });
    job.done({});
    assert.equal(changes, 4);
  });

  test('answers a cancellation when the job has ended, but waits a limited time', async () => {
    const { jobs, begin, clock, reasons } = createScene();
    const quick = begin();
    const answer = jobs.cancel(quick.id);
    quick.failed(reasons[0]);
    assert.equal((await answer).state, 'cancelled');

    const slow = begin();
    const late = jobs.cancel(slow.id);
    clock.advance(5_000);
    assert.equal((await late).state, 'running');
    slow.done({});
    assert.equal((await jobs.cancel(slow.id)).state, 'done', 'an ended job stays as it is');
    assert.deepEqual(
      reasons.map(({ code }) => code),
      ['HUB_CALL_CANCELLED', 'HUB_CALL_CANCELLED'],
    );
    await assert.rejects(jobs.cancel('nobody'), { code: 'HUB_JOB_UNKNOWN' });
  });
});

describe('after a restart of the hub', () => {
  /** Starts the jobs of the next run of the hub on a disk. */
  async function restarted(disk: ReturnType<typeof createFaultyDisk>) {
    const scene = createScene(disk);
    await scene.jobs.start();
    return scene;
  }

  test('ended jobs are unchanged, and a running job is interrupted, also when the hub was killed', async () => {
    const disk = createFaultyDisk();
    const first = createScene(disk);
    await first.jobs.start();
    const ended = first.begin('one');
    ended.done({ name: 'x' });
    const failed = first.begin('two');
    failed.failed(new HubError('HUB_PACKAGE_UNKNOWN', 'no such package'));
    const running = first.begin('three');
    running.report({ step: 'build', text: 'x is installed' });
    // Once the journal is idle, its records are on the disk.
    await new Promise(resolve => setImmediate(resolve));

    for (const after of [disk.afterKill(), disk.afterPowerFailure()]) {
      const { jobs } = await restarted(after);
      assert.deepEqual(
        jobs.list().map(({ title, state }) => [title, state]),
        [
          ['three', 'interrupted'],
          ['two', 'failed'],
          ['one', 'done'],
        ],
      );
      assert.deepEqual(jobs.get(failed.id), first.jobs.get(failed.id));
      assert.deepEqual(jobs.get(ended.id), first.jobs.get(ended.id));
      const interrupted = jobs.get(running.id);
      assert.ok(interrupted.state === 'interrupted' && interrupted.endedAt === undefined);
      assert.equal(interrupted.error.code, 'HUB_SHUTTING_DOWN');
      assert.equal(interrupted.progress?.step, 'build');
      assert.deepEqual(jobs.linesOf(running.id), []);
    }
  });

  test('a job that ran when the hub was stopped is interrupted, and was aborted', async () => {
    const disk = createFaultyDisk();
    const first = createScene(disk);
    await first.jobs.start();
    const { id } = first.begin();
    await first.jobs.stop();
    assert.equal(first.reasons[0]?.code, 'HUB_SHUTTING_DOWN');
    const { jobs } = await restarted(disk.afterKill());
    const job = jobs.get(id);
    assert.equal(job.state, 'interrupted');
    assert.ok('endedAt' in job && job.endedAt === first.clock.now());
  });

  test.each(['kill', 'stop'] as const)(
    'an unfinished job of a resumable kind is resumed after a %s, with its facts and progress',
    async end => {
      const disk = createFaultyDisk();
      const first = createScene(disk);
      first.jobs.onResume('install', () => () => {});
      await first.jobs.start();
      const job = first.begin('Install x');
      job.report({ step: 'build', text: 'x is installed' });
      first.begin('Install y').done({});
      await new Promise(resolve => setImmediate(resolve));
      if (end === 'stop') await first.jobs.stop();

      const { jobs, clock } = createScene(disk.afterKill());
      const resumed: Parameters<Parameters<typeof jobs.onResume>[1]>[] = [];
      const reasons: HubError[] = [];
      jobs.onResume('install', (...given) => {
        resumed.push(given);
        return reason => void reasons.push(reason);
      });
      await jobs.start();
      const [[facts, open] = assert.fail('it was not resumed'), ...others] = resumed;
      assert.equal(others.length, 0, 'an ended job is not resumed');
      assert.deepEqual(
        [facts.id, facts.title, facts.state, facts.progress?.text],
        [job.id, 'Install x', 'running', 'x is installed'],
      );
      open.report({ step: 'trial', text: 'it is started once' });
      const cancelled = jobs.cancel(job.id);
      assert.equal(reasons[0]?.code, 'HUB_CALL_CANCELLED');
      open.done({ name: 'x' });
      assert.deepEqual(await cancelled, jobs.get(job.id));
      assert.equal(jobs.get(job.id).state, 'done');
      assert.equal(clock.now(), facts.startedAt);
    },
  );

  test('an unfinished job of another kind than the resumable one is interrupted', async () => {
    const disk = createFaultyDisk();
    const first = createScene(disk);
    await first.jobs.start();
    const { id } = first.begin();
    await new Promise(resolve => setImmediate(resolve));
    const { jobs } = createScene(disk.afterKill());
    jobs.onResume('index', () => assert.fail('it is of another kind'));
    await jobs.start();
    assert.equal(jobs.get(id).state, 'interrupted');
  });

  test('no more jobs than the limit are read, the newest', async () => {
    const disk = createFaultyDisk();
    const first = createScene(disk);
    await first.jobs.start();
    for (let at = 0; at < maxJobs + 5; at++) first.begin().done({});
    await first.jobs.stop();
    const { jobs } = await restarted(disk.afterKill());
    assert.deepEqual(
      jobs.list().map(({ id }) => id),
      first.jobs.list().map(({ id }) => id),
    );
  });

  test('a running job is resumed, however many others have ended since it began', async () => {
    const disk = createFaultyDisk();
    const first = createScene(disk);
    first.jobs.onResume('install', () => () => {});
    await first.jobs.start();
    const running = first.begin('a long one');
    for (let at = 0; at < maxJobs + 5; at++) first.begin().done({});
    await first.jobs.stop();

    const { jobs } = createScene(disk.afterKill());
    const resumed: string[] = [];
    jobs.onResume('install', ({ id }) => {
      resumed.push(id);
      return () => {};
    });
    await jobs.start();
    assert.deepEqual(resumed, [running.id]);
    assert.deepEqual(
      jobs.list().map(({ id }) => id),
      first.jobs.list().map(({ id }) => id),
    );
  });

  test.each(['null', '{"id":1}', '{"id":"a"}', '[]', '"text"', '{"state":"done"}'])(
    'a record that is not a job, such as %s, is skipped',
    async record => {
      const { jobs } = await restarted(createFaultyDisk({ [file]: Buffer.from(`${record}\n`) }));
      assert.deepEqual(jobs.list(), []);
    },
  );

  test('a full disk does not stop a job, and is logged once', async () => {
    const disk = createFaultyDisk();
    disk.fail(1);
    const { jobs, begin, logged } = createScene(disk);
    await jobs.start();
    begin().done({});
    begin().done({});
    await jobs.stop();
    assert.deepEqual(
      jobs.list().map(({ state }) => state),
      ['done', 'done'],
    );
    assert.equal(logged.filter(({ level }) => level === 'warn').length, 1);
  });
});
