import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError, isObject } from '#core';
import { startHub, until } from '#helpers/hub';
import { openOther } from '../hub.ts';
import { run } from '../run.ts';

/** Starts a hub with a failed job and a running one, and returns a command line for it. */
async function openScene() {
  const hub = await startHub([]);
  const begin = (title: string) => {
    const job = hub.jobs.begin({
      kind: 'install',
      title,
      principal: 'owner',
      cancel: reason => job.failed(reason),
    });
    return job;
  };
  const failed = begin('Install one\u001b[2J');
  failed.failed(new HubError('HUB_PACKAGE_UNKNOWN', 'npm has no one'));
  const running = begin('Install two');
  running.report({ step: 'build', text: 'two is installed' });
  const needs = { findHub: async () => hub.place };
  let streams = 0;
  const { changed } = hub.jobs;
  Object.assign(hub.jobs, {
    changed: (...args: Parameters<typeof changed>) => (streams++, changed(...args)),
  });
  return {
    /** Returns the number of event streams that were opened. */
    streams: () => streams,
    running,
    failed,
    cli: (args: readonly string[], columns?: number) =>
      run(args, needs, columns === undefined ? {} : { columns }),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

test('jobs has a line for each job, newest first', async () => {
  await using scene = await openScene();
  const { code, out } = await scene.cli(['jobs']);
  const [head = '', two = '', one = ''] = out.split('\n');
  assert.equal(code, 0);
  assert.match(head, /^ID +STATE +STARTED +JOB +NOTE$/);
  assert.match(
    two,
    /^[0-9a-f]{8} +running +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +Install two +two is installed$/,
  );
  assert.match(one, /^[0-9a-f]{8} +failed .* Install one.* +HUB_PACKAGE_UNKNOWN$/);
  const shown = await scene.cli(['jobs'], 200);
  assert.ok(!shown.out.includes('\u001b[2J'), 'a terminal is not steered by what others wrote');
});

test('jobs --json is what the API answers', async () => {
  await using scene = await openScene();
  const answer: unknown = JSON.parse((await scene.cli(['jobs', '--json'])).out);
  assert.ok(isObject(answer) && Array.isArray(answer['jobs']));
  assert.deepEqual(
    answer['jobs'].map(job => isObject(job) && [job['id'], job['state']]),
    [
      [scene.running.id, 'running'],
      [scene.failed.id, 'failed'],
    ],
  );
});

test('jobs cancel accepts the beginning of an id, and prints the outcome of the job', async () => {
  await using scene = await openScene();
  const beginning = scene.running.id.slice(0, 8);
  assert.deepEqual(await scene.cli(['jobs', 'cancel', beginning]), {
    code: 0,
    out: 'Install two: cancelled',
    err: '',
  });
  const json: unknown = JSON.parse(
    (await scene.cli(['jobs', 'cancel', scene.failed.id, '--json'])).out,
  );
  assert.equal(isObject(json) && json['state'], 'failed');
});

test('jobs follow prints each step, and exits with the outcome of the job', async () => {
  await using scene = await openScene();
  const following = scene.cli(['jobs', 'follow', scene.running.id.slice(0, 8)]);
  const json = scene.cli(['jobs', 'follow', scene.running.id, '--json']);
  await until(() => scene.streams() === 2);
  scene.running.report({ step: 'trial', text: 'two is started once' });
  scene.running.done({});
  assert.deepEqual(await following, {
    code: 0,
    out: 'build: two is installed\ntrial: two is started once\nInstall two: done',
    err: '',
  });
  const states = (await json).out.split('\n').map((line): unknown => JSON.parse(line));
  assert.deepEqual(
    states.map(job => isObject(job) && job['state']),
    ['running', 'running', 'done'],
  );
});

test('jobs follow of a failed job prints the reason', async () => {
  await using scene = await openScene();
  const { code, out, err } = await scene.cli(['jobs', 'follow', scene.failed.id]);
  assert.equal(code, 1);
  assert.match(out, /^Install one.*: failed$/);
  assert.equal(err, 'HUB_PACKAGE_UNKNOWN: npm has no one');
});

test.for([
  [['jobs', 'follow'], 2, /^jobs: write "agenthub jobs" to list jobs/],
  [['jobs', 'follow', 'nobody'], 1, /^no job "nobody" is kept/],
  [['jobs', 'cancel'], 2, /^jobs: write "agenthub jobs" to list jobs/],
  [['jobs', 'stop', 'x'], 2, /^jobs: write "agenthub jobs" to list jobs/],
  [['jobs', 'cancel', 'x', 'y'], 2, /Unexpected argument 'y'/],
  [['jobs', 'cancel', 'nobody'], 1, /^no job "nobody" is kept/],
  [['jobs', 'cancel', ''], 2, /^agenthub: <id> is empty/],
] as const)('%j exits with %i', async ([args, expected, message]) => {
  await using scene = await openScene();
  const { code, err } = await scene.cli(args);
  assert.equal(code, expected);
  assert.match(err, message);
});

test('an ambiguous beginning of an id is refused', async () => {
  await using hub = await openOther(200, '{"jobs": [{"id": "ab1"}, {"id": "ab2"}]}');
  const { code, err } = await run(['jobs', 'cancel', 'ab'], {
    findHub: async () => ({ url: hub.url, token: undefined }),
  });
  assert.equal(code, 2);
  assert.match(err, /2 jobs have an id that begins with "ab"\. Write more of it/);
});

test('a hub without jobs prints a message', async () => {
  await using hub = await startHub([]);
  const { out } = await run(['jobs'], { findHub: async () => hub.place });
  assert.equal(out, `The hub at ${hub.url} keeps no jobs.`);
});

test('cancel, and the ids of running jobs, are completed', async () => {
  await using scene = await openScene();
  const complete = async (...words: readonly string[]) =>
    (await scene.cli(['__complete', '--', 'jobs', ...words])).out.split('\n')[0];
  assert.equal(await complete(''), 'cancel\t');
  assert.equal(await complete('cancel', ''), `${scene.running.id}\tInstall two`);
});
