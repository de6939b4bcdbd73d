import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import { type DashboardAnswer, type DashboardRequest, textOf } from '#dashboard';
import { taskPages } from '../../hub/dashboard/tasks.ts';
import { requestOf } from './request.ts';
import { createTestPipeline, waiting } from './task-pipeline.ts';

const visitors = {
  owner: { rights: 'owner', isLoggedIn: true },
  viewer: { rights: 'viewer', isLoggedIn: false },
} as const;

function open() {
  const made = createTestPipeline();
  const pages = taskPages({
    hub: { tasks: made.pipeline },
    system: { clock: { now: () => 120_000 } },
  });
  type Given = Parameters<typeof requestOf>[0];
  const ask = async (name: keyof typeof pages, given: Given = {}): Promise<DashboardAnswer> => {
    const request: DashboardRequest = requestOf({ visitor: visitors.owner, ...given });
    return await pages[name](request);
  };
  return { ...made, ask };
}

function textIn(answer: DashboardAnswer): string {
  if ('part' in answer) return textOf(answer.part);
  assert.ok('page' in answer, JSON.stringify(answer));
  return textOf(answer.page.main);
}

const one = { params: { id: 'add-sum' } };

test('the list has all tasks, for the owner only', async () => {
  const { ask, put } = open();
  expect(textIn(await ask('tasks'))).toContain('No task yet.');
  put(waiting);
  const list = textIn(await ask('tasksPartial'));
  expect(list).toContain('href="/dashboard/tasks/add-sum"');
  expect(list).toContain('<span class="badge warn">pending judge review</span>');
  expect(list).toContain('Add a function that sums &lt;numbers&gt;.');
  expect(list).toContain('1,540');
  const read = textIn(await ask('tasks', { visitor: visitors.viewer }));
  expect(read).not.toContain('add-sum');
  expect(read).not.toContain('/home/ada');
});

test('the page shows the states as a line, usage, checks, review and history', async () => {
  const { ask, put } = open();
  put(waiting);
  const page = textIn(await ask('task', one));
  expect(page).toContain('<li class="past">Proposal<span class="unseen"> (past)</span></li>');
  expect(page).toContain('<li class="now" aria-current="step">Judge</li>');
  expect(page).toContain('<li class="ahead">Done</li>');
  expect(page).toContain('1,200 in, 340 out, in 3 calls');
  expect(page).toContain('0: local models');
  expect(page).toContain('50,000 tokens');
  expect(page).toContain('<code>node --test</code>');
  expect(page).toContain('<code>sum.js:3</code>');
  expect(page).toContain('1 issue of the reviewer');
  expect(page).toContain('gate_failed');
  expect(page).toContain('the review found minor issues');
  expect(page).toContain('<code>agenthub task report-judge add-sum</code>');
});

test('the report of the judge, which a person writes, is read again at each view', async () => {
  const { ask, put, state } = open();
  put(waiting);
  expect(textIn(await ask('task', one))).not.toContain('JUDGE_REPORT.md</summary>');
  state.reports.set('JUDGE_REPORT.md', 'Verdict: PASS, well done');
  expect(textIn(await ask('task', one))).toContain('Verdict: PASS, well done');
  state.reports.set('JUDGE_REPORT.md', 'Verdict: FAIL, after all');
  expect(textIn(await ask('task', one))).toContain('Verdict: FAIL, after all');
  state.reports.delete('JUDGE_REPORT.md');
  expect(textIn(await ask('task', one))).not.toContain('after all');
});

test('the diff and the reports are shown, and read again only after a change of the task', async () => {
  const { ask, put, change, state, reads } = open();
  put(waiting);
  state.diff = {
    text: 'diff --git a/sum.js b/sum.js\n@@ -1 +1,2 @@\n-old\n+<new>\n same\n',
    isTruncated: false,
  };
  state.reports.set('REVIEW_REQUEST.md', '# Please **review**');
  const page = textIn(await ask('task', one));
  expect(page).toContain('<span class="removed">-old</span>\n');
  expect(page).toContain('<span class="added">+&lt;new&gt;</span>\n same\n');
  expect(page).toContain('<span class="hunk">@@ -1 +1,2 @@</span>');
  const report = /<details id="report-REVIEW_REQUEST-\w{8}" hx-preserve="true">/;
  expect(page).toMatch(report);
  expect(page).toContain('# Please **review**');
  expect(page).not.toContain('HALT.md');
  await ask('taskWorkPartial', one);
  assert.equal(reads(), 1);
  state.reports.set('HALT.md', 'stop').set('REVIEW_REQUEST.md', 'written again');
  change('add-sum', { status: 'human_consultation', why: 'a critical finding' });
  const after = textIn(await ask('taskWorkPartial', one));
  expect(after).toContain('HALT.md');
  expect(report.exec(after)?.[0]).not.toBe(report.exec(page)?.[0]);
  assert.equal(reads(), 2);
});

test('a long diff is cut, and one that cannot be read leaves the rest of the page intact', async () => {
  const { ask, put, change, state } = open();
  put(waiting);
  state.diff = { text: '+x\n'.repeat(3_000), isTruncated: false };
  const long = textIn(await ask('task', one));
  expect(long.match(/class="added"/g)).toHaveLength(2_000);
  expect(long).toContain('<code>git diff agenthub/add-sum</code> shows all of it');
  state.fails = true;
  change('add-sum', {});
  const page = textIn(await ask('task', one));
  expect(page).toContain('The changes cannot be read: no engine answers');
  expect(page).toContain('node --test');
  state.fails = false;
  expect(textIn(await ask('task', one))).toContain('class="added"');
});

test('a task without a history says so', async () => {
  const { ask, put } = open();
  put({ ...waiting, history: [] });
  expect(textIn(await ask('task', one))).toContain('Nothing has happened yet.');
});

test('a task that left the usual path shows where, and why', async () => {
  const { ask, put, change } = open();
  put({ ...waiting, status: 'pending_local_review', history: [] });
  change('add-sum', { status: 'pending_local_review' });
  change('add-sum', {
    status: 'human_consultation',
    why: 'two strikes',
    halted: { code: 'HUB_OLLAMA_UNAVAILABLE', message: 'Ollama is away' },
  });
  const state = textIn(await ask('taskStatePartial', one));
  expect(state).toContain('<li class="now">Local review</li>');
  expect(state).not.toContain('aria-current');
  expect(state).toContain('A person is needed: two strikes');
  expect(state).toContain('Ollama is away (HUB_OLLAMA_UNAVAILABLE)');
  expect(textIn(await ask('tasksPartial'))).toContain('human consultation</span> (halted)</td>');
});

test('only actions that the state allows are offered', async () => {
  const { ask, put, done, judged } = open();
  put({ ...waiting, status: 'pending_implementer', commands: ['run', 'cancel'] });
  const page = textIn(await ask('task', one));
  expect(page).toContain('action="/dashboard/actions/task-run/add-sum"');
  expect(page).toContain('action="/dashboard/actions/task-cancel/add-sum"');
  expect(page).not.toContain('task-finalize');
  expect(page).not.toContain('task-verdict');
  expect(await ask('runTask', one)).toEqual({
    redirect: '/dashboard/tasks/add-sum?done=task-run&about=add-sum',
  });
  expect(done).toEqual([expect.stringMatching(/^run add-sum by /)]);
  const cancelled = await ask('cancelTask', { ...one, isHtmx: true });
  expect(textIn(cancelled)).toContain('Cancelled add-sum. Its branch is kept.');
  expect(judged).toEqual([]);
});

test('a verdict with its notes is passed on, and a pass can be finalized', async () => {
  const { ask, put, judged } = open();
  put(waiting);
  expect(textIn(await ask('task', one))).toContain('name="verdict" value="pass"');
  await expect(ask('judgeTask', { ...one, form: { verdict: 'maybe' } })).rejects.toThrow(
    /choose pass or fail/,
  );
  await expect(ask('finalizeTask', one)).rejects.toThrow(/no verdict of pass/);
  await ask('judgeTask', { ...one, form: { verdict: 'pass', notes: '  ' } });
  await ask('judgeTask', { ...one, form: { verdict: 'pass', notes: 'well done' } });
  expect(judged).toEqual([
    { id: 'add-sum', verdict: 'pass', notes: undefined },
    { id: 'add-sum', verdict: 'pass', notes: 'well done' },
  ]);
  const page = textIn(await ask('task', one));
  expect(page).toContain('Verdict of the judge: pass. well done');
  expect(page).toContain('task-finalize');
  await ask('finalizeTask', one);
  const merged = textIn(await ask('taskStatePartial', one));
  expect(merged).toContain('<li class="past" aria-current="step">Done');
  expect(merged).toContain(`<code>${'a'.repeat(12)}</code>`);
});

test('an unknown task, and a hub without tasks, say so', async () => {
  const { ask } = open();
  await expect(ask('task', one)).rejects.toThrow(/no task add-sum/);
  const pages = taskPages({ hub: {}, system: { clock: { now: () => 0 } } });
  expect(textIn(await pages.tasks(requestOf()))).toContain('This hub runs no tasks.');
  expect(await pages.task(requestOf(one))).toMatchObject({ status: 409 });
});
