import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { HubError } from '#core';
import { caller } from '#helpers/principal';
import { createRecordingLog } from '#helpers/recording-log';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Repositories } from '#repositories';
import type { ModelRun } from '../../hub/tasks/model-calls/model-calls-types.ts';
import type { TaskView } from '../../hub/tasks/task-types.ts';
import { type Scene, createScene, git, writeFiles } from '../repositories/harness.ts';
import { written } from './contracts.ts';
import {
  type PipelineOptions,
  type ScriptedCall,
  createPipeline,
  fails,
  fileBlock,
  goodAnswer,
  goodReview,
  jobEnded,
  owner,
  remainsIn,
  reportOf,
  says,
  scriptedAcceptance,
} from './pipeline.ts';

const files = { 'README.md': 'A\n', 'src/old.mjs': 'export const old = 1;\n' };
const acceptance = { commands: ['node --test'] };
const open: AsyncDisposable[] = [];
let scene: Scene;

beforeAll(() => {
  scene = createScene('process');
});
afterAll(async () => {
  for (const one of open) await one[Symbol.asyncDispose]();
  await scene?.[Symbol.asyncDispose]();
});

/** Creates a repository, and a pipeline whose models follow a script. */
async function begin(
  options: PipelineOptions,
  contract: object = {},
  repositories = scene.repositories,
) {
  const path = scene.create(files);
  const pipeline = createPipeline(repositories, options);
  await pipeline.start();
  open.push({
    async [Symbol.asyncDispose]() {
      await pipeline.stop();
      await rm(pipeline.folder, { recursive: true, force: true });
    },
  });
  const set = await pipeline.setUp(path, contract);
  assert.equal(set.status, 'pending_implementer');
  return { ...pipeline, path };
}

const codeOf = (error: unknown) => (error instanceof HubError ? error.code : String(error));

const prepared = {
  handoff: ['TASK_CONTRACT.json'],
  branch: [],
  main: ['first'],
  worktrees: 2,
  tree: '',
};

test('a task goes from its proposal to merged, unattended until the judge', async () => {
  const { tasks, work, path, runs } = await begin(
    { script: [says(goodAnswer), says(goodReview)], acceptance: scriptedAcceptance([true]) },
    { acceptance },
  );
  const reviewed = await work('add-sum', 'run');
  assert.equal(reviewed.status, 'pending_judge_review');
  assert.deepEqual(remainsIn(path), {
    handoff: ['REVIEW_REQUEST.md', 'TASK_CONTRACT.json'],
    status: 'pending_judge_review',
    branch: ['Review add-sum', 'Implement add-sum'],
    main: ['first'],
    worktrees: 2,
    tree: '',
  });
  assert.deepEqual(
    runs.map(({ model, job }) => [model, job.startsWith('job-')]),
    [
      ['coder', true],
      ['critic', true],
    ],
  );
  assert.equal(
    git(
      path,
      'log',
      '-2',
      '--format=%(trailers:key=Task,key=Phase,key=Model,key=Tokens)',
      'agenthub/add-sum',
    ).replaceAll(/\n+/g, '\n'),
    'Task: add-sum\nPhase: local_review\nModel: critic\nTokens: 120\nTask: add-sum\nPhase: implementer\nModel: coder\nTokens: 120',
  );
  const request = reportOf(path, 'REVIEW_REQUEST.md');
  for (const part of [
    'sum(a, b) returns a + b',
    '+export const sum',
    'All checks passed',
    'Passed. By critic',
    '200 read, 40 written',
  ])
    assert.ok(request.includes(part), part);
  assert.equal(
    (await tasks.reportJudge('add-sum', { verdict: 'pass' }, caller)).status,
    'pending_judge_review',
  );
  await assert.rejects(tasks.finalize('add-sum', caller), { code: 'HUB_OWNER_ONLY' });
  const done = await tasks.finalize('add-sum', owner);
  assert.equal(`${done.status} ${done.doing} ${done.totals.calls}`, 'done idle 2');
  assert.deepEqual(remainsIn(path), {
    handoff: ['REVIEW_REQUEST.md', 'TASK_CONTRACT.json'],
    status: 'done',
    branch: [],
    main: ['Review add-sum', 'Implement add-sum', 'first'],
    worktrees: 1,
    tree: '',
  });
  assert.ok(existsSync(join(path, 'src/sum.mjs')));
  assert.equal(git(path, 'branch', '--list', 'agenthub/*'), 'agenthub/add-sum');
});

describe('two strikes of the implementer halt for a person:', () => {
  const secret = fileBlock('src/sum.mjs', 'export const key = "sk-proj-abcdefghij0123456789";\n');
  const cases: Readonly<Record<string, readonly [PipelineOptions['script'], RegExp]>> = {
    empty_output: [[says('  '), says('\n')], /coder has answered nothing/],
    thinking_only: [
      [says('', { thinkingOnly: true }), says('', { thinkingOnly: true })],
      /said nothing/,
    ],
    cut_off: [
      [says('@@@ FILE', { doneReason: 'length' }), says('@@@ F', { doneReason: 'length' })],
      /limit of tokens/,
    ],
    timeout: [
      [fails('HUB_MODEL_CALL_TIMEOUT', 'no answer'), fails('HUB_MODEL_CALL_TIMEOUT', 'no answer')],
      /no answer \(after/,
    ],
    malformed_output: [
      [says('one'), says('two'), says('three'), says('four')],
      /there is no block/,
    ],
    repeated_output: [[says('one'), says('two'), says('two')], /the same answer again/],
    no_change: [
      [
        says(fileBlock('src/old.mjs', files['src/old.mjs'])),
        says(`Here:\n${fileBlock('src/old.mjs', files['src/old.mjs'])}`),
      ],
      /leaves every file as it was/,
    ],
    forbidden_path: [
      [says(fileBlock('README.md', 'B\n')), says(fileBlock('../out', 'x\n'))],
      /\.\.\/out/,
    ],
    secret_found: [[says(secret), says(`${secret}\n`)], /adds secrets/],
  };
  for (const [cause, [script, detail]] of Object.entries(cases))
    test(cause, async () => {
      const specification = {
        requirements: ['x'],
        target_file: 'src/sum.mjs',
        allowed_paths: ['src/'],
      };
      const { work, path } = await begin({ script }, { specification });
      const task = await work('add-sum', 'implementer');
      assert.equal(task.status, 'human_consultation');
      assert.equal(task.attempt, 2);
      assert.equal(task.failures.at(-1)?.cause, cause);
      assert.deepEqual(remainsIn(path), {
        ...prepared,
        handoff: ['STALL_REPORT.md', 'TASK_CONTRACT.json'],
        status: 'human_consultation',
      });
      const report = reportOf(path, 'STALL_REPORT.md');
      assert.match(report, detail);
      assert.ok(!report.includes('abcdefghij0123456789'), 'the secret is not quoted');
      assert.match(
        report,
        /### implementer, attempt 1[^]*### implementer, attempt 2[^]*How to go on/,
      );
      assert.equal(git(path, '-C', worktreeIn(path), 'status', '--porcelain'), '');
    });
});

const worktreeIn = (path: string) =>
  git(path, 'worktree', 'list', '--porcelain')
    .split('\n')
    .filter(line => line.startsWith('worktree '))
    .map(line => line.slice('worktree '.length))
    .at(-1) ?? '';

test('an answer that cannot be read, and is given again, is reported with its problem', async () => {
  const { work, path } = await begin({ script: [says('one'), says('one'), says('one')] });
  await work('add-sum', 'run');
  assert.match(
    reportOf(path, 'STALL_REPORT.md'),
    /coder has given the same answer again: there is no block that begins with "@@@ FILE"/,
  );
});

test('findings of the gate are sent to the implementer, whose second attempt can pass', async () => {
  const second = fileBlock('src/sum.mjs', 'export const sum = (a, b) => b + a;\n');
  const { work, path, runs } = await begin(
    { script: [says(goodAnswer), says(second)], acceptance: scriptedAcceptance([false, true]) },
    { acceptance },
  );
  const task = await work('add-sum', 'implementer');
  assert.equal(`${task.status} ${task.attempt}`, 'pending_local_review 2');
  assert.match(
    runs[1]?.prompt ?? '',
    /gate_failed: an acceptance command failed[^]*AssertionError: 3 is not 4/,
  );
  assert.deepEqual(remainsIn(path).branch, ['Implement add-sum']);
});

test('a symbolic link is not followed: writing below it is a forbidden path', async () => {
  const specification = { requirements: ['x'], target_file: 'link/x', allowed_paths: ['link/'] };
  const path = scene.create(files);
  symlinkSync('/tmp', join(path, 'link'));
  git(path, 'add', '--all');
  git(path, 'commit', '--quiet', '--message=link');
  const attack = says(fileBlock('link/agenthub-was-here', 'x\n'));
  const pipeline = createPipeline(scene.repositories, {
    script: [attack, says(`${fileBlock('link/agenthub-was-here', 'y\n')}`)],
  });
  await pipeline.start();
  await pipeline.setUp(path, { specification });
  const task = await pipeline.work('add-sum', 'run');
  assert.equal(task.failures.at(-1)?.cause, 'forbidden_path');
  assert.match(task.failures.at(-1)?.detail ?? '', /symbolic link/);
  assert.equal(existsSync('/tmp/agenthub-was-here'), false);
  await pipeline.stop();
});

describe('the local review', () => {
  const issue = {
    path: 'src/sum.mjs',
    line: 1,
    severity: 'critical',
    rule: 'Injection',
    quote: 'export const sum',
    why: 'because',
  };
  const through = async (...reviews: readonly string[]) => {
    const begun = await begin({ script: [says(goodAnswer), ...reviews.map(text => says(text))] });
    return { ...begun, task: await begun.work('add-sum', 'run') };
  };

  test('reads the branch: changes of a person in the worktree are not committed', async () => {
    const review: ScriptedCall = (run, signal) => {
      const [, worktree = ''] =
        git(path, 'worktree', 'list', '--porcelain').match(/worktree (.*add-sum.*)/) ?? [];
      writeFiles(worktree, { 'src/sum.mjs': 'unseen\n', 'unseen.mjs': 'unseen\n' });
      return says(goodReview)(run, signal);
    };
    const { work, path, runs } = await begin({ script: [says(goodAnswer), review] });
    const { status } = await work('add-sum', 'run');
    assert.equal(`${status} ${runs.length}`, 'pending_judge_review 2');
    assert.equal(git(path, 'diff', '--stat', 'agenthub/add-sum~1', 'agenthub/add-sum'), '');
  });

  test('with a critical finding halts for a person with HALT.md', async () => {
    const { task, path } = await through(
      JSON.stringify({ passed: false, critical: true, issues: [issue] }),
    );
    assert.equal(task.why, 'the local review has a critical finding');
    assert.deepEqual(remainsIn(path), {
      handoff: ['HALT.md', 'TASK_CONTRACT.json'],
      status: 'human_consultation',
      branch: ['Review add-sum', 'Implement add-sum'],
      main: ['first'],
      worktrees: 2,
      tree: '',
    });
    assert.match(reportOf(path, 'HALT.md'), /critical, `src\/sum\.mjs:1`, Injection: because/);
  });

  test('with minor issues continues, and the task keeps the issues', async () => {
    const minor = { ...issue, severity: 'minor' };
    const { task, path } = await through(
      JSON.stringify({
        passed: false,
        critical: false,
        issues: [minor, { ...minor, quote: 'eval(input)' }],
      }),
    );
    assert.equal(task.status, 'pending_judge_review');
    assert.deepEqual(task.contract.handoff_data.local_review_issues, [minor]);
    assert.equal(task.contract.handoff_data.local_review_passed, false);
    assert.match(reportOf(path, 'REVIEW_REQUEST.md'), /1 further findings were dropped/);
  });

  test('that is malformed is not a pass: it is requested once more', async () => {
    const { task, runs } = await through('It looks fine.', goodReview);
    assert.equal(`${task.status} ${task.reviewAttempt}`, 'pending_judge_review 1');
    assert.match(runs[2]?.prompt ?? '', /the answer is not one JSON object/);
  });

  test('that stays malformed makes two strikes, and then halts for a person', async () => {
    const { task, path } = await through('a', 'b', 'c', 'd');
    assert.equal(task.why, 'the local reviewer stalled 2 times, last by malformed_output');
    assert.deepEqual(remainsIn(path).branch, ['Implement add-sum']);
    assert.match(
      reportOf(path, 'STALL_REPORT.md'),
      /### local_review, attempt 2: malformed_output/,
    );
  });

  test('must quote the diff for a critical claim', async () => {
    const { task } = await through(
      JSON.stringify({ passed: false, critical: true, issues: [{ ...issue, quote: 'rm -rf /' }] }),
      goodReview,
    );
    assert.equal(task.status, 'pending_judge_review');
  });
});

test('the judge sends a task back once with notes, then it halts for a person', async () => {
  const again = fileBlock('src/sum.mjs', 'export const sum = (a, b) => a + b; // named\n');
  const { tasks, work, path, runs } = await begin({
    script: [says(goodAnswer), says(goodReview), says(again), says(goodReview)],
  });
  await work('add-sum', 'run');
  writeFileSync(
    join(path, '_handoff/JUDGE_REPORT.md'),
    '# Judge\n\nVerdict: FAIL\n\nName the sum.\n',
  );
  const back = await tasks.reportJudge('add-sum', undefined, owner);
  assert.equal(`${back.status} ${back.attempt}`, 'pending_implementer 1');
  assert.deepEqual(remainsIn(path).handoff, ['TASK_CONTRACT.json']);
  await work('add-sum', 'run');
  assert.match(runs[2]?.prompt ?? '', /What the judge wants changed[^]*Name the sum\./);
  const person = await tasks.reportJudge('add-sum', { verdict: 'fail', notes: 'no' }, owner);
  assert.equal(
    `${person.status}: ${person.why}`,
    'human_consultation: the judge said fail 2 times',
  );
  assert.deepEqual(remainsIn(path).branch, [
    'Review add-sum',
    'Implement add-sum',
    'Review add-sum',
    'Implement add-sum',
  ]);
  assert.deepEqual(remainsIn(path).handoff, [
    'REVIEW_REQUEST.md',
    'STALL_REPORT.md',
    'TASK_CONTRACT.json',
  ]);
});

describe('finalize', () => {
  const judged = async (repositories?: Repositories) => {
    const script = [says(goodAnswer), says(goodReview)];
    const begun = await begin({ script }, {}, repositories);
    await begun.work('add-sum', 'run');
    await begun.tasks.reportJudge('add-sum', { verdict: 'pass' }, owner);
    return begun;
  };

  test('does not merge what was committed on the branch after the review', async () => {
    const { tasks, path } = await judged();
    const worktree = worktreeIn(path);
    writeFiles(worktree, { 'src/sum.mjs': 'unseen\n' });
    git(path, '-C', worktree, 'commit', '--quiet', '--all', '--message=unseen');
    await assert.rejects(tasks.finalize('add-sum', owner), {
      code: 'HUB_TASK_STATE',
      message: /^the branch agenthub\/add-sum is at [0-9a-f]{12}, .* and not at [0-9a-f]{12}\./,
    });
    const { status, halted, checkpoints } = tasks.get('add-sum');
    assert.deepEqual([status, halted?.code], ['pending_judge_review', 'task_state']);
    assert.equal(git(path, 'log', '--format=%s', 'main').includes('unseen'), false);
    // The person has discarded the commit.
    git(path, '-C', worktree, 'reset', '--quiet', '--hard', String(checkpoints.at(-1)?.commit));
    assert.equal((await tasks.finalize('add-sum', owner)).status, 'done');
  });

  test('halts for a person at a conflict, with nothing half merged, and merges once it is resolved', async () => {
    const { tasks, path } = await judged();
    writeFiles(path, { 'src/sum.mjs': 'other\n' });
    git(path, 'add', '--all');
    git(path, 'commit', '--quiet', '--message=other');
    const task = await tasks.finalize('add-sum', owner);
    assert.equal(task.why, 'agenthub/add-sum conflicts with main in src/sum.mjs');
    assert.deepEqual(remainsIn(path), {
      handoff: ['REVIEW_REQUEST.md', 'STALL_REPORT.md', 'TASK_CONTRACT.json'],
      status: 'human_consultation',
      branch: ['Review add-sum', 'Implement add-sum'],
      main: ['other', 'first'],
      worktrees: 2,
      tree: '',
    });
    git(path, 'reset', '--quiet', '--hard', 'HEAD~1');
    assert.equal((await tasks.finalize('add-sum', owner)).status, 'done');
    assert.equal(remainsIn(path).worktrees, 1);
  });

  test('makes a task done that is cancelled when its merge is made', async () => {
    const cancelling = Promise.withResolvers<TaskView>();
    const repositories: Repositories = {
      ...scene.repositories,
      async open(...where) {
        const repository = await scene.repositories.open(...where);
        return {
          ...repository,
          async merge(...request) {
            const outcome = await repository.merge(...request);
            const cancelled = Promise.withResolvers<void>();
            using _heard = begun.tasks.events(({ task }) => {
              if (task.status === 'cancelled') cancelled.resolve();
            });
            cancelling.resolve(begun.tasks.cancel('add-sum', owner));
            await cancelled.promise;
            return outcome;
          },
        };
      },
    };
    const begun = await judged(repositories);
    const { status, merged } = await begun.tasks.finalize('add-sum', owner);
    assert.deepEqual([status, merged], ['done', git(begun.path, 'rev-parse', 'main')]);
    assert.equal((await cancelling.promise).status, 'done');
    assert.equal(remainsIn(begun.path).worktrees, 1);
  });

  test('halts for a person if the base is checked out in another worktree', async () => {
    const { tasks, path } = await judged();
    git(path, 'switch', '--quiet', '--create', 'other');
    const linked = join(mkdtempSync(join(tmpdir(), 'linked-')), 'main');
    git(path, 'worktree', 'add', '--quiet', linked, 'main');
    try {
      const task = await tasks.finalize('add-sum', owner);
      assert.equal(
        task.why,
        `main is checked out in ${linked}, which the hub cannot update. Run git merge agenthub/add-sum there, or switch it to another branch`,
      );
    } finally {
      await rm(dirname(linked), { recursive: true });
    }
  });

  test('says what to do if the base branch was renamed', async () => {
    const { tasks, path } = await judged();
    git(path, 'branch', '--move', 'main', 'trunk');
    await assert.rejects(tasks.finalize('add-sum', owner), {
      code: 'HUB_REPOSITORY_UNKNOWN',
      message:
        'there is no branch "main", which was renamed or deleted. Make it again with git branch, or merge by hand',
    });
    git(path, 'branch', 'main');
    assert.equal((await tasks.finalize('add-sum', owner)).status, 'done');
  });

  test('halts for a person if the base is checked out with changes, which stay', async () => {
    const { tasks, path } = await judged();
    writeFiles(path, { 'README.md': 'changed\n' });
    const task = await tasks.finalize('add-sum', owner);
    assert.match(task.why ?? '', /main is checked out in .* uncommitted changes: README\.md/);
    assert.equal(remainsIn(path).tree, 'M README.md');
    assert.deepEqual(remainsIn(path).main, ['first']);
  });
});

test('a dirty tree of the user is neither changed nor committed', async () => {
  const { path, work } = await begin({ script: [says(goodAnswer), says(goodReview)] });
  writeFiles(path, { 'README.md': 'mine\n', 'new.txt': 'mine\n' });
  assert.equal((await work('add-sum', 'run')).status, 'pending_judge_review');
  assert.equal(git(path, 'status', '--porcelain'), 'M README.md\n?? new.txt');
  assert.equal(git(path, 'diff', '--name-only', 'main', 'agenthub/add-sum'), 'src/sum.mjs');
});

test('the diff is that of the branch, even if a tag has its name', async () => {
  const { path, work, tasks } = await begin({ script: [says(goodAnswer), says(goodReview)] });
  await work('add-sum', 'run');
  git(path, 'tag', 'agenthub/add-sum', 'main');
  const { text } = await tasks.diff('add-sum', AbortSignal.timeout(10_000));
  assert.match(text, /src\/sum\.mjs/);
});

test('Ollama going down before and during a phase halts it with the state unchanged', async () => {
  const { work, path, jobs, tasks, runs, setUpOllama } = await begin({
    script: [
      fails('HUB_OLLAMA_UNAVAILABLE', 'Ollama does not answer: start it'),
      says(goodAnswer),
      says(goodReview),
    ],
  });
  setUpOllama(false);
  const before = await work('add-sum', 'run');
  assert.equal(
    `${before.status} ${before.halted?.code} ${runs.length}`,
    'pending_implementer ollama_unavailable 0',
  );
  setUpOllama(true);
  const halted = await work('add-sum', 'run');
  assert.equal(`${halted.status} ${halted.attempt} ${runs.length}`, 'pending_implementer 1 1');
  assert.deepEqual(halted.halted, {
    code: 'ollama_unavailable',
    message: 'Ollama does not answer: start it',
  });
  assert.deepEqual(remainsIn(path), { ...prepared, status: 'pending_implementer' });
  assert.equal(jobs.list()[0]?.state, 'failed');
  assert.deepEqual(tasks.get('add-sum').failures, []);
  assert.equal((await work('add-sum', 'run')).status, 'pending_judge_review');
});

test('the cost of models with a price is summed', async () => {
  const { work, path } = await begin({
    script: [says(''), says(goodAnswer), says(goodReview)],
    costOf: (model, { prompt, completion }) =>
      model === 'coder' ? (prompt + completion) / 1000 : 0,
  });
  const { totals, contract } = await work('add-sum', 'run');
  assert.deepEqual([totals.cost, contract.handoff_data.cost], [0.24, 0.24]);
  assert.match(reportOf(path, 'REVIEW_REQUEST.md'), /- Cost: 0\.24\n/);
});

test('a spent budget halts for a person before the next call', async () => {
  const { work, path, runs } = await begin(
    { script: [says(goodAnswer), says(goodReview)] },
    { budget: { tokens: 100 } },
  );
  const task = await work('add-sum', 'run');
  assert.equal(task.why, 'the budget is spent: 120 of 100 tokens');
  assert.equal(runs.length, 1);
  assert.deepEqual(remainsIn(path), {
    ...prepared,
    handoff: ['STALL_REPORT.md', 'TASK_CONTRACT.json'],
    status: 'human_consultation',
    branch: ['Implement add-sum'],
  });
});

/** Creates a model that answers when the test allows it or its call is cancelled. `called` resolves at the call. */
function hanging() {
  const called = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<ScriptedCall>();
  return {
    called: called.promise,
    answer: answered.resolve,
    call: async (run: ModelRun, signal: AbortSignal) => {
      called.resolve();
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      return await (
        await Promise.race([promise, answered.promise])
      )(run, signal);
    },
  };
}

test('cancel ends the call of the model and the task, and keeps the branch without its worktree', async () => {
  const hang = hanging();
  const { tasks, path, jobs } = await begin({ script: [hang.call] });
  const { job } = await tasks.begin('add-sum', 'run', owner);
  await hang.called;
  await assert.rejects(tasks.begin('add-sum', 'run', owner), {
    code: 'HUB_TASK_BUSY',
    message:
      'task add-sum is pending_implementer and busy (asking): wait for it, or run "agenthub task cancel add-sum"',
  });
  const cancelled = await tasks.cancel('add-sum', owner);
  await jobEnded(jobs, job);
  assert.equal(`${cancelled.status} ${cancelled.doing}`, 'cancelled idle');
  assert.equal(jobs.get(job).state, 'cancelled');
  assert.deepEqual(remainsIn(path), { ...prepared, worktrees: 1, status: 'cancelled' });
  assert.equal(git(path, 'branch', '--list', 'agenthub/*'), 'agenthub/add-sum');
});

test('a cancelled job ends the phase and leaves the task where it was', async () => {
  const hang = hanging();
  const { tasks, jobs, work } = await begin({ script: [hang.call, says(goodAnswer)] });
  const { job } = await tasks.begin('add-sum', 'run', owner);
  await hang.called;
  await jobs.cancel(job);
  await jobEnded(jobs, job);
  const { status, doing, halted } = tasks.get('add-sum');
  assert.deepEqual([status, doing, halted?.code], ['pending_implementer', 'idle', 'cancelled']);
  assert.equal((await work('add-sum', 'implementer')).status, 'pending_local_review');
});

test('a job that is cancelled while its start is being stored ends, and no model is called', async () => {
  const storing = Promise.withResolvers<void>();
  const stored = Promise.withResolvers<void>();
  const { tasks, jobs, runs } = await begin({
    script: [says(goodAnswer), says(goodReview)],
    async onAppend(record, isWritten) {
      if (isWritten || !('event' in record) || record.event !== 'begin') return;
      storing.resolve();
      await stored.promise;
    },
  });
  const begun = tasks.begin('add-sum', 'run', owner);
  await storing.promise;
  const cancelled = jobs.cancel(jobs.list()[0]?.id ?? '');
  stored.resolve();
  const { job } = await begun;
  await jobEnded(jobs, job);
  await cancelled;
  assert.equal(jobs.get(job).state, 'cancelled');
  const { status, doing, halted } = tasks.get('add-sum');
  assert.deepEqual([status, doing, halted?.code], ['pending_implementer', 'idle', 'cancelled']);
  assert.equal(runs.length, 0);
});

test('a job ends, also if the next phase begins as soon as the task is idle', async () => {
  const { tasks, jobs } = await begin({ script: [says(goodAnswer), says(goodReview)] });
  const next = Promise.withResolvers<{ readonly job: string }>();
  using _heard = tasks.events(({ task }) => {
    if (task.status === 'pending_local_review' && task.doing === 'idle')
      next.resolve(tasks.begin('add-sum', 'local_review', owner));
  });
  const first = await tasks.begin('add-sum', 'implementer', owner);
  const second = await next.promise;
  await jobEnded(jobs, second.job);
  await tasks.settled('add-sum');
  const job = jobs.get(first.job);
  assert.equal(job.state, 'done');
  assert.deepEqual(job.state === 'done' && job.result, {
    task_id: 'add-sum',
    status: 'pending_local_review',
    attempt: 1,
    step: 'idle',
  });
});

test('a job has the result of its own phase, if it ends while the begin of the next one is being stored', async () => {
  const stored = Promise.withResolvers<void>();
  let begins = 0;
  const { tasks, jobs } = await begin({
    script: [says(goodAnswer), says(goodReview)],
    onAppend(record, isWritten) {
      if (isWritten || !('event' in record) || record.event !== 'begin') return undefined;
      return ++begins === 2 ? stored.promise : undefined;
    },
  });
  const next = Promise.withResolvers<{ readonly job: string }>();
  using _heard = tasks.events(({ task }) => {
    if (task.status === 'pending_local_review' && task.doing === 'idle')
      next.resolve(tasks.begin('add-sum', 'local_review', owner));
  });
  const first = await tasks.begin('add-sum', 'implementer', owner);
  await jobEnded(jobs, first.job);
  stored.resolve();
  await jobEnded(jobs, (await next.promise).job);
  const job = jobs.get(first.job);
  assert.ok(job.state === 'done');
  assert.deepEqual(job.result, {
    task_id: 'add-sum',
    status: 'pending_local_review',
    attempt: 1,
    step: 'idle',
  });
});

test('a command that cannot be stored changes nothing, and succeeds once it can be', async () => {
  let isFull = true;
  const { tasks, work } = await begin({
    script: [says(goodAnswer), says(goodReview)],
    onAppend: record =>
      isFull && 'event' in record && record.event === 'begin' ? false : undefined,
  });
  await assert.rejects(tasks.begin('add-sum', 'run', owner), { code: 'HUB_TASK_STORE_FAILED' });
  const { status, doing, job } = tasks.get('add-sum');
  assert.deepEqual([status, doing, job], ['pending_implementer', 'idle', undefined]);
  isFull = false;
  assert.equal((await work('add-sum', 'run')).status, 'pending_judge_review');
});

test('a task that could not be stored is not restored, and its id can be used again', async () => {
  const { backlog, folder, tasks, start, stop } = createPipeline(scene.repositories, {
    script: [],
  });
  await start();
  const path = scene.create(files);
  const journal = join(folder, 'tasks', 'add-sum.jsonl');
  mkdirSync(journal);
  await assert.rejects(tasks.create(path, written, owner), { code: 'HUB_TASK_STORE_FAILED' });
  rmdirSync(journal);
  assert.deepEqual(await backlog.retry(), []);
  assert.equal(existsSync(journal), false);
  await tasks.create(path, written, owner);
  assert.equal(existsSync(journal), true);
  await stop();
});

test('rollback moves the branch back to a checkpoint', async () => {
  const { tasks, work, path } = await begin({
    script: [says(goodAnswer), says(goodReview), says(goodReview)],
  });
  const { checkpoints } = await work('add-sum', 'run');
  await assert.rejects(tasks.rollback('add-sum', undefined, caller), { code: 'HUB_OWNER_ONLY' });
  await assert.rejects(tasks.rollback('add-sum', 'abc', owner), { code: 'HUB_REQUEST_INVALID' });
  const back = await tasks.rollback('add-sum', checkpoints[0]?.commit, owner);
  assert.equal(back.status, 'pending_local_review');
  assert.deepEqual(remainsIn(path).branch, ['Implement add-sum']);
  assert.equal((await work('add-sum', 'local_review')).status, 'pending_judge_review');
  const { status, changedFiles } = await tasks.rollback('add-sum', 'base', owner);
  assert.deepEqual([status, changedFiles], ['pending_implementer', []]);
  assert.deepEqual(remainsIn(path), { ...prepared, status: 'pending_implementer' });
});

test('a task that is cancelled while another hub works on it ends, and its worktree is left to that hub', async () => {
  const hang = hanging();
  const first = await begin({ script: [hang.call, says(goodReview)] });
  const { path } = first;
  const second = createPipeline(scene.repositories, { script: [], hubId: 'hub-2' });
  await second.start();
  // Both hubs read the same contract.
  await second.tasks.setup(path, owner);
  await first.tasks.begin('add-sum', 'run', owner);
  await hang.called;
  await assert.rejects(
    second.work('add-sum', 'run').then(task => Promise.reject(task.halted)),
    {
      code: 'task_leased',
    },
  );
  const { status, doing, commands } = await second.tasks.cancel('add-sum', owner);
  assert.deepEqual([status, doing, commands], ['cancelled', 'idle', []]);
  assert.equal(remainsIn(path).worktrees, 2);
  hang.answer(says(goodAnswer));
  await first.tasks.settled('add-sum');
  assert.equal(first.tasks.get('add-sum').status, 'pending_judge_review');
  await second.stop();
  await rm(second.folder, { recursive: true, force: true });
});

test('after a stall, setup starts again with the current contract', async () => {
  const { tasks, work, path } = await begin({
    script: [says(''), says(''), says(goodAnswer), says(goodReview)],
  });
  await work('add-sum', 'run');
  const contract = JSON.parse(reportOf(path, 'TASK_CONTRACT.json'));
  contract.specification.requirements.push('say it again');
  writeFileSync(join(path, '_handoff/TASK_CONTRACT.json'), JSON.stringify(contract));
  const set = await tasks.setup(path, owner);
  assert.equal(`${set.status} ${set.attempt}`, 'pending_implementer 1');
  assert.equal(set.contract.specification.requirements.length, 2);
  assert.equal((await work('add-sum', 'run')).status, 'pending_judge_review');
});

test('wrong commands fail with the state and the allowed ones; tasks in wrong places are refused', async () => {
  const { tasks, path } = await begin({ script: [] });
  const refusal = async (work: Promise<unknown>) => {
    try {
      await work;
    } catch (error) {
      return `${codeOf(error)}: ${error instanceof Error ? error.message : ''}`.replaceAll(
        path,
        'REPO',
      );
    }
    return 'allowed';
  };
  assert.equal(
    await refusal(tasks.begin('add-sum', 'local_review', owner)),
    'HUB_TASK_STATE: task add-sum is pending_implementer, which "run-local-review" does not fit. These do: "agenthub task run", "agenthub task run-implementer", "agenthub task rollback", "agenthub task cancel"',
  );
  assert.equal(
    await refusal(tasks.begin('nope', 'run', owner)),
    'HUB_TASK_UNKNOWN: there is no task "nope". There are add-sum',
  );
  assert.match(
    await refusal(tasks.create(path, { ...minimal, task_id: 'other' }, owner)),
    /^HUB_TASK_EXISTS: REPO: task add-sum is pending_implementer\./,
  );
  scene.allow([]);
  try {
    // The error reveals neither the id nor the repository of a task that the caller may not use.
    for (const id of ['add-sum', 'nope'])
      assert.equal(
        await refusal(tasks.begin(id, 'run', caller)),
        `HUB_TASK_UNKNOWN: there is no task "${id}": make one with "agenthub task new"`,
      );
    assert.deepEqual(await tasks.visibleTo(caller), []);
    assert.equal((await tasks.visibleTo(owner)).length, 1);
  } finally {
    scene.allow([scene.home]);
  }
});

test.each([
  [
    'checkout',
    '--detach',
    'no branch is checked out: switch to the branch that the task belongs to',
  ],
  ['checkout', '--orphan=fresh', 'has no commit yet: make one'],
])('a repository after git %s %s is refused before anything is written', async (...given) => {
  const [command, option, why] = given;
  const path = scene.create(files);
  git(path, command, option, '--quiet');
  const pipeline = createPipeline(scene.repositories, { script: [] });
  await pipeline.start();
  open.push({ [Symbol.asyncDispose]: () => pipeline.stop() });
  await assert.rejects(pipeline.tasks.create(path, written, owner), {
    code: 'HUB_TASK_STATE',
    message: `${path}: ${why}, then try again`,
  });
  assert.deepEqual(pipeline.tasks.list(), []);
  assert.equal(existsSync(join(path, '_handoff')), false);
});

const minimal = {
  task_id: 'x',
  specification: { requirements: ['x'], target_file: 'x' },
  roles: { implementer: 'a', local_reviewer: 'b' },
};

test('requests and answers are logged at debug, without secrets', async () => {
  const { log, logged } = createRecordingLog();
  const { work } = await begin(
    { script: [says(`hunter2 ${goodAnswer}`)], log },
    {
      specification: {
        ...minimal.specification,
        target_file: 'src/sum.mjs',
        goal: 'the password is hunter2',
      },
    },
  );
  await work('add-sum', 'implementer');
  const texts = logged
    .filter(({ level }) => level === 'debug')
    .map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`);
  assert.ok(
    texts.some(
      text =>
        text.startsWith('request of the pipeline') && text.includes('the password is [redacted]'),
    ),
  );
  assert.ok(
    texts.some(text => text.startsWith('answer of the pipeline') && text.includes('@@@ FILE')),
  );
  assert.ok(!JSON.stringify(logged).includes('hunter2'));
});

test('tasks of several repositories are worked on at once, within the limits', async () => {
  const hang = [hanging(), hanging()];
  const pipeline = createPipeline(scene.repositories, {
    script: hang.map(({ call }) => call),
    limits: { maxRunning: 1, queue: 1 },
  });
  await pipeline.start();
  const ids = ['one', 'two', 'three'];
  for (const id of ids) await pipeline.setUp(scene.create(files), { task_id: id });
  await pipeline.tasks.begin('one', 'run', owner);
  await hang[0]?.called;
  await pipeline.tasks.begin('two', 'run', owner);
  await assert.rejects(pipeline.tasks.begin('three', 'run', owner), { code: 'HUB_TASKS_FULL' });
  assert.equal(pipeline.runs.length, 1);
  await pipeline.tasks.cancel('one', owner);
  await hang[1]?.called;
  assert.equal(pipeline.tasks.get('two').doing, 'asking');
  await pipeline.stop();
  await rm(pipeline.folder, { recursive: true, force: true });
});

test('a run that starts with the preparation of its branch counts in the limits', async () => {
  const hang = [hanging(), hanging()];
  const pipeline = createPipeline(scene.repositories, {
    script: hang.map(({ call }) => call),
    limits: { maxRunning: 1, queue: 1 },
  });
  await pipeline.start();
  const ids = ['one', 'two', 'three'];
  for (const id of ids)
    await pipeline.tasks.create(scene.create(files), { ...written, task_id: id }, owner);
  await pipeline.tasks.begin('one', 'run', owner);
  await hang[0]?.called;
  await pipeline.tasks.begin('two', 'run', owner);
  await assert.rejects(pipeline.tasks.begin('three', 'run', owner), { code: 'HUB_TASKS_FULL' });
  assert.equal(pipeline.runs.length, 1);
  await pipeline.tasks.cancel('one', owner);
  await hang[1]?.called;
  await pipeline.stop();
  await rm(pipeline.folder, { recursive: true, force: true });
});

test('a run that begins while the files of its task are written waits for a slot', async () => {
  const hang = [hanging(), hanging()];
  const [isWriting, mayWrite] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const pipeline = createPipeline(scene.repositories, {
    script: hang.map(({ call }) => call),
    limits: { maxRunning: 1, queue: 1 },
    onAppend(record, isWritten) {
      if (isWritten || !('event' in record) || record.event !== 'written') return undefined;
      if (!JSON.stringify(record).includes('"task_id":"two"')) return undefined;
      isWriting.resolve();
      return mayWrite.promise;
    },
  });
  await pipeline.start();
  await pipeline.setUp(scene.create(files), { task_id: 'one' });
  await pipeline.tasks.begin('one', 'run', owner);
  await hang[0]?.called;
  const settingUp = pipeline.setUp(scene.create(files), { task_id: 'two' });
  await isWriting.promise;
  await pipeline.tasks.begin('two', 'run', owner);
  mayWrite.resolve();
  // The run would reach its model meanwhile.
  for (const id of ['three', 'four']) await pipeline.setUp(scene.create(files), { task_id: id });
  assert.equal(pipeline.runs.length, 1);
  await pipeline.tasks.cancel('one', owner);
  await hang[1]?.called;
  await pipeline.stop();
  await settingUp;
  await rm(pipeline.folder, { recursive: true, force: true });
});

test('of tasks that start at once, no more are accepted than may run and wait', async () => {
  const pipeline = createPipeline(scene.repositories, {
    script: Array.from({ length: 4 }, () => hanging().call),
    limits: { maxRunning: 1, queue: 1 },
  });
  await pipeline.start();
  const ids = ['one', 'two', 'three', 'four'];
  for (const id of ids) await pipeline.setUp(scene.create(files), { task_id: id });
  const begun = ids.map(id => pipeline.tasks.begin(id, 'run', owner).then(() => 'begun', codeOf));
  // The order depends on the disk, because each call checks whether its repository is allowed.
  const outcomes = (await Promise.all(begun)).toSorted();
  assert.deepEqual(outcomes, ['HUB_TASKS_FULL', 'HUB_TASKS_FULL', 'begun', 'begun']);
  await pipeline.stop();
  await rm(pipeline.folder, { recursive: true, force: true });
});

test('a source file that is a link halts a phase with the reason', async () => {
  const path = scene.create(files);
  symlinkSync('src/old.mjs', join(path, 'link.mjs'));
  git(path, 'add', '--all');
  git(path, 'commit', '--quiet', '--message=link');
  const pipeline = createPipeline(scene.repositories, { script: [] });
  await pipeline.start();
  open.push({ [Symbol.asyncDispose]: () => pipeline.stop() });
  const specification = { ...written.specification, source_files: ['link.mjs'] };
  await pipeline.setUp(path, { specification });
  const { halted } = await pipeline.work('add-sum', 'implementer');
  assert.deepEqual(halted, {
    code: 'contract_invalid',
    message:
      '_handoff/TASK_CONTRACT.json: specification.source_files: "link.mjs" is a symbolic link, a folder or a submodule, which has no text of its own: name a file instead, or remove it',
  });
});

test.each([
  [
    'target_file',
    'src/latin.mjs',
    /"src\/latin\.mjs" is not a text in UTF-8, so no model can read it/,
  ],
  ['source_files', 'src/latin.mjs', /"src\/latin\.mjs" is not a text in UTF-8/],
  ['target_file', 'src', /"src" is a symbolic link, a folder or a submodule/],
  ['source_files', 'src', /"src" is a symbolic link, a folder or a submodule/],
])(
  'a %s that is %s, without a text, is not given to a model as absent',
  async (field, file, why) => {
    const path = scene.create({ ...files, 'src/latin.mjs': Buffer.from('// caf\xe9\n', 'latin1') });
    const pipeline = createPipeline(scene.repositories, { script: [] });
    await pipeline.start();
    open.push({ [Symbol.asyncDispose]: () => pipeline.stop() });
    const value = field === 'target_file' ? file : [file];
    const specification = { ...written.specification, [field]: value };
    await pipeline.setUp(path, { specification });
    const { halted } = await pipeline.work('add-sum', 'implementer');
    assert.equal(halted?.code, 'contract_invalid');
    assert.match(halted?.message ?? '', why);
    assert.match(halted?.message ?? '', new RegExp(`specification\\.${field}`));
  },
);

describe('a file with a filter, such as that of Git LFS, which does not run', () => {
  /** Creates a repository in which all JSON files have a filter, and sets up a task there. */
  async function beginFiltered(script: readonly ScriptedCall[], specification: object) {
    const path = scene.create({ ...files, '.gitattributes': '*.json filter=lfs\n' });
    const pipeline = createPipeline(scene.repositories, { script });
    await pipeline.start();
    open.push({ [Symbol.asyncDispose]: () => pipeline.stop() });
    await pipeline.setUp(path, { specification: { requirements: ['x'], ...specification } });
    return pipeline;
  }

  test('halts a phase before a model is asked, if it is the target', async () => {
    const { work, runs } = await beginFiltered([], { target_file: 'src/data.json' });
    const { halted } = await work('add-sum', 'implementer');
    assert.deepEqual(halted, {
      code: 'contract_invalid',
      message:
        '_handoff/TASK_CONTRACT.json: specification.target_file: "src/data.json" has the filter lfs in .gitattributes, which does not run here: git would store it unfiltered. Name another file, or make this change yourself',
    });
    assert.equal(runs.length, 0);
  });

  test('does not pass the gate, if a model writes it', async () => {
    const answer = says(`${goodAnswer}${fileBlock('src/data.json', '{}\n')}`);
    const { work } = await beginFiltered([answer, says(goodAnswer)], {
      target_file: 'src/sum.mjs',
      allowed_paths: [],
    });
    const { failures, status } = await work('add-sum', 'implementer');
    assert.deepEqual(
      failures.map(({ cause, gate }) => [cause, gate?.faults]),
      [
        [
          'forbidden_path',
          [
            {
              path: 'src/data.json',
              why: 'has the filter lfs in .gitattributes, which does not run here',
            },
          ],
        ],
      ],
    );
    assert.equal(status, 'pending_local_review');
  });
});

test('the implementer gets files unchanged, so that it can copy lines around empty ones', async () => {
  const source = 'def one():\n    return 1\n\n\ndef two():\n    return 3\n';
  const copied =
    '@@@ EDIT src/two.py\n@@@ SEARCH\n    return 1\n\n\ndef two():\n    return 3\n@@@ REPLACE\n    return 1\n\n\ndef two():\n    return 2\n@@@ END\n';
  const path = scene.create({ ...files, 'src/two.py': source });
  const pipeline = createPipeline(scene.repositories, {
    script: [says(copied.replace('\n\n\n', '\n\n')), says(copied)],
  });
  await pipeline.start();
  open.push({ [Symbol.asyncDispose]: () => pipeline.stop() });
  const specification = { requirements: ['Return 2.'], target_file: 'src/two.py' };
  await pipeline.setUp(path, { specification });
  const { status } = await pipeline.work('add-sum', 'implementer');
  const [first, repaired] = pipeline.runs.map(({ prompt }) => prompt);
  assert.ok(first?.includes(source), first);
  assert.ok(repaired?.includes(source), repaired);
  assert.equal(status, 'pending_local_review');
});

test('tasks are listed by their age, also by the next run of the hub', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tasks-'));
  const before = createPipeline(scene.repositories, { script: [], folder });
  await before.start();
  for (const id of ['zeta', 'alpha', 'mu'])
    await before.tasks.create(scene.create(files), { ...written, task_id: id }, owner);
  const ids = ({ tasks }: typeof before) => tasks.list().map(({ id }) => id);
  assert.deepEqual(ids(before), ['mu', 'alpha', 'zeta']);
  await before.stop();
  const after = createPipeline(scene.repositories, { script: [], folder });
  await after.start();
  assert.deepEqual(ids(after), ['mu', 'alpha', 'zeta']);
  await after.stop();
  await rm(folder, { recursive: true });
});

test('the refusal of an id that an ended task has names the command that takes another one', async () => {
  const { tasks, path } = await begin({ script: [] });
  await tasks.cancel('add-sum', owner);
  await assert.rejects(tasks.create(path, written, owner), {
    message:
      /that is cancelled\. Choose another id: run "agenthub task new ID", or write it into the contract$/,
  });
});

test('of two concurrent tasks, a repository gets one, and an id belongs to one', async () => {
  const slow = Promise.withResolvers<void>();
  const pipeline = createPipeline(scene.repositories, { script: [], onAppend: () => slow.promise });
  await pipeline.start();
  const [one, two] = [scene.create(files), scene.create(files)];
  const create = (path: string, id: string) =>
    pipeline.tasks.create(path, { ...written, task_id: id }, owner).then(({ id }) => id, codeOf);
  const made = [create(one, 'a'), create(one, 'b'), create(two, 'c'), create(two, 'A')];
  // No task is stored before all of them have checked for existing tasks.
  await setTimeout(500);
  slow.resolve();
  const outcomes = await Promise.all(made);
  assert.deepEqual(
    pipeline.tasks
      .list()
      .map(({ repository }) => repository)
      .toSorted(),
    [one, two].toSorted(),
  );
  assert.equal(
    outcomes.filter(outcome => outcome === 'HUB_TASK_EXISTS').length,
    2,
    outcomes.join(),
  );
  await pipeline.stop();
});

test('a second contract for a task is refused, and the file of the first stays as a person has edited it', async () => {
  const { tasks, start, stop } = createPipeline(scene.repositories, { script: [] });
  await start();
  open.push({ [Symbol.asyncDispose]: stop });
  const path = scene.create(files);
  const file = join(path, '_handoff/TASK_CONTRACT.json');
  await tasks.create(path, written, owner);
  const edited = reportOf(path, 'TASK_CONTRACT.json').replace('a + b', 'b + a');
  writeFileSync(file, edited);
  const other = { ...written, budget: { tokens: 5 } };
  await assert.rejects(tasks.create(path, other, owner), {
    code: 'HUB_TASK_EXISTS',
    message: `${path}: task add-sum is proposal, with another contract. Edit _handoff/TASK_CONTRACT.json and run "agenthub task setup", or run "agenthub task cancel add-sum" and choose another id`,
  });
  assert.equal((await tasks.create(path, written, owner)).status, 'proposal');
  assert.equal(reportOf(path, 'TASK_CONTRACT.json'), edited);
  await rm(file);
  await tasks.create(path, written, owner);
  assert.match(reportOf(path, 'TASK_CONTRACT.json'), /a \+ b/);
  await tasks.setup(path, owner);
  await assert.rejects(tasks.create(path, other, owner), {
    message: /is pending_implementer, with another contract\. Finish it, or run/,
  });
});

test('the run of a task that was not set up reads the contract, as a person has edited it', async () => {
  const { tasks, work, start, stop, runs } = createPipeline(scene.repositories, {
    script: [says(goodAnswer), says(goodReview)],
  });
  await start();
  open.push({ [Symbol.asyncDispose]: stop });
  const path = scene.create(files);
  const file = join(path, '_handoff/TASK_CONTRACT.json');
  await tasks.create(path, written, owner);
  const text = reportOf(path, 'TASK_CONTRACT.json');
  for (const [edited, code] of [
    ['{', 'HUB_CONTRACT_INVALID'],
    [text.replace('add-sum', 'other'), 'HUB_TASK_EXISTS'],
  ] as const) {
    writeFileSync(file, edited);
    await assert.rejects(tasks.begin('add-sum', 'run', owner), { code });
    assert.equal(reportOf(path, 'TASK_CONTRACT.json'), edited);
  }
  writeFileSync(file, text.replace('a + b', 'b + a'));
  const { contract } = await work('add-sum', 'run');
  assert.deepEqual(contract.specification.requirements, ['sum(a, b) returns b + a']);
  assert.match(runs[0]?.prompt ?? '', /returns b \+ a/);
  assert.match(reportOf(path, 'TASK_CONTRACT.json'), /returns b \+ a/);
});

test.each(['the implementer answers', 'the gate runs', 'the gate fails', 'the reviewer answers'])(
  'a commit that a person makes on the branch while %s halts the task, and stays',
  async moment => {
    const whenever = (now: string) => {
      if (now !== moment) return;
      const worktree = worktreeIn(path);
      writeFiles(worktree, { 'mine.txt': 'mine\n' });
      git(path, '-C', worktree, 'add', '--all');
      git(path, '-C', worktree, 'commit', '--quiet', '--message=mine');
    };
    const answering =
      (now: string, text: string): ScriptedCall =>
      (run, signal) => {
        whenever(now);
        return says(text)(run, signal);
      };
    const gate = scriptedAcceptance([moment !== 'the gate fails']);
    const { work, path } = await begin(
      {
        script: [
          answering('the implementer answers', goodAnswer),
          answering('the reviewer answers', goodReview),
        ],
        acceptance: async run => {
          whenever('the gate runs');
          whenever('the gate fails');
          return await gate(run);
        },
      },
      { acceptance },
    );
    const { halted } = await work('add-sum', 'run');
    assert.equal(halted?.code, 'task_state');
    assert.equal(git(path, 'log', '-1', '--format=%s', 'agenthub/add-sum'), 'mine');
  },
);

test('a task is cancelled whose repository is gone', async () => {
  const { tasks, path } = await begin({ script: [] });
  await rename(path, `${path}-moved`);
  const { status } = await tasks.cancel('add-sum', owner);
  assert.equal(status, 'cancelled');
});

test('what is in the way of a new task, the branch of an earlier one, is deleted as the message says', async () => {
  const { tasks, path, work } = await begin({ script: [says(goodAnswer)] });
  await work('add-sum', 'implementer');
  await tasks.cancel('add-sum', owner);
  await rm(join(path, '_handoff'), { recursive: true });
  const other = createPipeline(scene.repositories, { script: [], hubId: 'hub-2' });
  await other.start();
  open.push({ [Symbol.asyncDispose]: other.stop });
  const message = await other.setUp(path).then(String, String);
  const [, remove = '', branch = ''] =
    /^HubError: .* earlier task add-sum\. Delete it: (git .*) && (git .*), or choose another task_id$/.exec(
      message,
    ) ?? [];
  for (const command of [remove, branch])
    execFileSync('sh', ['-c', command], { cwd: path, stdio: 'pipe' });
  assert.equal((await other.tasks.setup(path, owner)).status, 'pending_implementer');
});

test('finalize ends a task beside a worktree of the user whose name begins like those of tasks', async () => {
  const { tasks, path, work } = await begin({ script: [says(goodAnswer), says(goodReview)] });
  const mine = join(scene.home, 'agenthub-mine');
  git(path, 'worktree', 'add', '--quiet', '-b', 'mine', mine);
  await work('add-sum', 'run');
  await tasks.reportJudge('add-sum', { verdict: 'pass' }, owner);
  const { status, doing } = await tasks.finalize('add-sum', owner);
  assert.deepEqual([status, doing], ['done', 'idle']);
  assert.equal(existsSync(join(mine, 'README.md')), true);
});

test('a change that is not of the model halts the task, and does not count against the model', async () => {
  const repositories: Repositories = {
    ...scene.repositories,
    async open(...where) {
      const repository = await scene.repositories.open(...where);
      const { worktrees } = repository;
      return {
        ...repository,
        worktrees: {
          ...worktrees,
          async find(...which) {
            const worktree = await worktrees.find(...which);
            return (
              worktree && {
                ...worktree,
                async write(...what) {
                  await worktree.write(...what);
                  writeFiles(worktree.path, { 'README.md': 'A\r\n' });
                },
              }
            );
          },
        },
      };
    },
  };
  const { work } = await begin({ script: [says(goodAnswer)] }, {}, repositories);
  const { status, failures, halted } = await work('add-sum', 'implementer');
  assert.deepEqual([status, failures, halted?.code], ['pending_implementer', [], 'task_state']);
  assert.match(halted?.message ?? '', /^the model has not changed "README\.md", and git sees/);
});
