import assert from 'node:assert/strict';
import { HubError } from '#core';
import { describe, test } from 'vitest';
import { taskStatuses } from '../../hub/tasks/contract.ts';
import { effectsOf, next } from '../../hub/tasks/next.ts';
import type { CallUse, TaskCommand, TaskResult } from '../../hub/tasks/task-events.ts';
import type { LocalReview, TaskState, TaskStep } from '../../hub/tasks/task-state.ts';
import { contractOf } from './contracts.ts';
import { passedGate, preparedState, stateOf } from './states.ts';

const use: CallUse = { calls: 1, promptTokens: 10, completionTokens: 5, workMs: 1_000 };
const review: LocalReview = { passed: true, critical: false, issues: [], dropped: 0 };

const steps: Readonly<Record<TaskStep['kind'], TaskStep>> = {
  idle: { kind: 'idle' },
  preparing: { kind: 'preparing' },
  asking: { kind: 'asking', phase: 'implementer' },
  applying: { kind: 'applying', answer: 'A', repaired: false },
  committing: { kind: 'committing', answer: 'A', gate: passedGate },
  reading: { kind: 'reading', answer: 'R', repaired: false },
  recording: { kind: 'recording', review },
  merging: { kind: 'merging' },
  rolling_back: { kind: 'rolling_back', commit: 'c1' },
  cleaning: { kind: 'cleaning' },
};

const commands: Readonly<Record<string, TaskCommand>> = {
  setup: { type: 'setup', contract: contractOf() },
  run: { type: 'begin', kind: 'run', job: 'j' },
  'run-implementer': { type: 'begin', kind: 'implementer', job: 'j' },
  'run-local-review': { type: 'begin', kind: 'local_review', job: 'j' },
  pass: { type: 'judge', verdict: 'pass' },
  fail: { type: 'judge', verdict: 'fail', notes: 'no' },
  finalize: { type: 'finalize' },
  rollback: { type: 'rollback', commit: 'c1' },
  cancel: { type: 'cancel' },
};

const results: readonly TaskResult[] = [
  { type: 'prepared', branch: 'b', baseBranch: 'main', base: 'b0' },
  { type: 'answered', answer: 'A', use },
  { type: 'malformed', problem: 'no block' },
  { type: 'stalled', cause: 'timeout', detail: 'late' },
  { type: 'checked', gate: passedGate, use: { ...use, calls: 0 } },
  { type: 'committed', commit: 'c2', files: ['a'] },
  { type: 'reviewed', review },
  { type: 'merged', commit: 'm' },
  { type: 'not_merged', why: 'conflict' },
  { type: 'rolled_back', commit: 'c1', files: [] },
  { type: 'cleaned' },
  { type: 'halted', code: 'ollama_unavailable', message: 'down' },
  { type: 'budget_spent', what: 'tokens' },
];

const codeOf = (error: unknown) => (error instanceof HubError ? error.code : 'none');
const shown = ({ status, step }: TaskState) =>
  step.kind === 'idle' ? status : `${status}/${step.kind}`;

function outcomeOf(task: TaskState, event: TaskCommand | TaskResult): string {
  try {
    const after = next(task, { ...event, at: 1 }).task;
    return after === task ? 'ignored' : shown(after);
  } catch (error) {
    return codeOf(error).replace('HUB_TASK_', '');
  }
}

describe('commands in every state', () => {
  const checkpoint = {
    phase: 'implementer',
    attempt: 1,
    commit: 'c1',
    model: 'm',
    tokens: 1,
    at: 0,
  } as const;
  const table: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
    taskStatuses.map(status => {
      const task = preparedState({ status, checkpoints: [checkpoint] });
      const base = status === 'proposal' ? stateOf() : task;
      return [
        status,
        Object.entries(commands).map(([name, command]) => `${name}: ${outcomeOf(base, command)}`),
      ];
    }),
  );
  const expected: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    proposal: {
      setup: 'proposal/preparing',
      run: 'proposal/preparing',
      cancel: 'cancelled/cleaning',
    },
    pending_implementer: {
      run: 'pending_implementer/asking',
      'run-implementer': 'pending_implementer/asking',
      rollback: 'pending_implementer/rolling_back',
      cancel: 'cancelled/cleaning',
    },
    pending_local_review: {
      run: 'pending_local_review/asking',
      'run-local-review': 'pending_local_review/asking',
      rollback: 'pending_local_review/rolling_back',
      cancel: 'cancelled/cleaning',
    },
    pending_judge_review: {
      pass: 'pending_judge_review',
      fail: 'pending_implementer',
      rollback: 'pending_judge_review/rolling_back',
      cancel: 'cancelled/cleaning',
    },
    human_consultation: {
      setup: 'proposal/preparing',
      rollback: 'human_consultation/rolling_back',
      cancel: 'cancelled/cleaning',
    },
    done: {},
    cancelled: {},
  };
  for (const status of taskStatuses)
    test(status, () => {
      assert.deepEqual(
        table[status],
        Object.keys(commands).map(name => `${name}: ${expected[status]?.[name] ?? 'STATE'}`),
      );
    });

  test('finalize needs a verdict of pass', () => {
    const passed = preparedState({ status: 'pending_judge_review', verdict: 'pass' });
    assert.equal(outcomeOf(passed, { type: 'finalize' }), 'pending_judge_review/merging');
    const conflict = preparedState({ status: 'human_consultation', verdict: 'pass' });
    assert.equal(outcomeOf(conflict, { type: 'finalize' }), 'human_consultation/merging');
  });

  test('only cancel is allowed during a step', () => {
    for (const [kind, step] of Object.entries(steps)) {
      if (kind === 'idle') continue;
      const task = preparedState({ step });
      for (const [name, command] of Object.entries(commands)) {
        const expect = name === 'cancel' && kind !== 'cleaning' ? 'cancelled/cleaning' : 'BUSY';
        assert.equal(outcomeOf(task, command), expect, `${name} in ${kind}`);
      }
    }
  });
});

describe('results in every step', () => {
  const implementer = preparedState();
  const reviewer = preparedState({ status: 'pending_local_review' });
  const expected: Readonly<Record<TaskStep['kind'], Readonly<Record<string, string>>>> = {
    idle: {},
    preparing: { prepared: 'pending_implementer', halted: 'proposal' },
    asking: {
      answered: 'pending_implementer/applying',
      stalled: 'pending_implementer/asking',
      halted: 'pending_implementer',
      budget_spent: 'human_consultation',
    },
    applying: {
      malformed: 'pending_implementer/asking',
      stalled: 'pending_implementer/asking',
      checked: 'pending_implementer/committing',
      halted: 'pending_implementer',
      budget_spent: 'human_consultation',
    },
    committing: {
      stalled: 'pending_implementer/asking',
      committed: 'pending_local_review',
      halted: 'pending_implementer',
      budget_spent: 'human_consultation',
    },
    reading: {
      malformed: 'pending_local_review/asking',
      stalled: 'pending_local_review/asking',
      reviewed: 'pending_local_review/recording',
      halted: 'pending_local_review',
      budget_spent: 'human_consultation',
    },
    recording: {
      stalled: 'pending_local_review/asking',
      committed: 'pending_judge_review',
      halted: 'pending_local_review',
      budget_spent: 'human_consultation',
    },
    merging: {
      merged: 'done/cleaning',
      not_merged: 'human_consultation',
      halted: 'pending_judge_review',
    },
    rolling_back: { rolled_back: 'pending_implementer', halted: 'human_consultation' },
    cleaning: { cleaned: 'cancelled', merged: 'done/cleaning' },
  };
  const statusOf: Readonly<Partial<Record<TaskStep['kind'], TaskState>>> = {
    preparing: stateOf(),
    reading: reviewer,
    recording: reviewer,
    merging: preparedState({ status: 'pending_judge_review', verdict: 'pass' }),
    rolling_back: preparedState({ status: 'human_consultation' }),
    cleaning: preparedState({ status: 'cancelled' }),
  };
  for (const [kind, step] of Object.entries(steps))
    test(kind, () => {
      const task = { ...(statusOf[step.kind] ?? implementer), step };
      for (const result of results)
        assert.equal(
          outcomeOf(task, result),
          expected[step.kind][result.type] ?? 'ignored',
          result.type,
        );
    });
});

function after(task: TaskState, ...events: readonly (TaskCommand | TaskResult)[]): TaskState {
  return events.reduce((state, event, at) => next(state, { ...event, at }).task, task);
}

const answered: TaskResult = { type: 'answered', answer: 'A', use };
const malformed: TaskResult = { type: 'malformed', problem: 'no block' };
const timeout: TaskResult = { type: 'stalled', cause: 'timeout', detail: 'late' };
const implement: TaskCommand = { type: 'begin', kind: 'implementer', job: 'j' };
const reviewing: TaskCommand = { type: 'begin', kind: 'local_review', job: 'j' };

test('a malformed answer is requested once more; then it is a strike', () => {
  const repairing = after(preparedState(), implement, answered, malformed);
  assert.deepEqual(repairing.step, {
    kind: 'asking',
    phase: 'implementer',
    repair: { answer: 'A', problem: 'no block' },
  });
  assert.equal(repairing.attempt, 1);
  const struck = after(repairing, answered, malformed);
  assert.equal(struck.attempt, 2);
  assert.deepEqual(struck.step, { kind: 'asking', phase: 'implementer' });
  assert.deepEqual(struck.failures, [
    {
      phase: 'implementer',
      attempt: 1,
      cause: 'malformed_output',
      detail: 'no block',
      output: 'A',
      at: 1,
    },
  ]);
});

test('the second strike of a phase halts for a person; the reviewer is counted separately', () => {
  const struck = after(preparedState(), implement, timeout, timeout);
  assert.equal(struck.status, 'human_consultation');
  assert.equal(struck.why, 'the implementer stalled 2 times, last by timeout');
  assert.equal(struck.job, undefined);
  const task = preparedState({ status: 'pending_local_review', attempt: 2 });
  const once = after(task, reviewing, timeout);
  assert.equal(`${once.status} ${once.attempt} ${once.reviewAttempt}`, 'pending_local_review 2 2');
  assert.equal(after(once, timeout).why, 'the local reviewer stalled 2 times, last by timeout');
});

test('a fault of the infrastructure is not a strike', () => {
  const halted = after(preparedState(), implement, {
    type: 'halted',
    code: 'ollama_unavailable',
    message: 'down',
  });
  assert.equal(halted.attempt, 1);
  assert.deepEqual(halted.halted, { code: 'ollama_unavailable', message: 'down' });
  assert.equal(after(halted, implement).halted, undefined);
});

test('a critical finding halts for a person; any other goes to the judge', () => {
  const task = preparedState({ status: 'pending_local_review' });
  const through = (found: LocalReview) =>
    after(
      task,
      reviewing,
      answered,
      { type: 'reviewed', review: found },
      { type: 'committed', commit: 'c2', files: ['a'] },
    );
  assert.equal(through({ ...review, critical: true }).status, 'human_consultation');
  assert.equal(through({ ...review, passed: false }).status, 'pending_judge_review');
  assert.deepEqual(through(review).checkpoints, [
    { phase: 'local_review', attempt: 1, commit: 'c2', model: 'critic', tokens: 15, at: 3 },
  ]);
});

test('the judge sends a task back once, with the notes and attempts from 1', () => {
  const judged = preparedState({ status: 'pending_judge_review', attempt: 2, review });
  const back = after(judged, { type: 'judge', verdict: 'fail', notes: 'rename it' });
  assert.equal(`${back.status} ${back.attempt}`, 'pending_implementer 1');
  assert.equal(back.judgeNotes, 'rename it');
  assert.equal(back.review, undefined);
  const again = after(
    { ...back, status: 'pending_judge_review' },
    { type: 'judge', verdict: 'fail' },
  );
  assert.equal(again.status, 'human_consultation');
  assert.equal(again.why, 'the judge said fail 2 times');
});

test('no person is needed once the task has ended', () => {
  const asking = preparedState({ status: 'human_consultation', verdict: 'pass', why: 'conflict' });
  const merged = after(asking, { type: 'finalize' }, { type: 'merged', commit: 'm' });
  assert.deepEqual([merged.status, merged.why], ['done', undefined]);
  const cancelled = after(asking, { type: 'cancel' });
  assert.deepEqual([cancelled.status, cancelled.why], ['cancelled', undefined]);
});

test('an unattended task keeps its job and begins the next phase, until a person is needed', () => {
  const run: TaskCommand = { type: 'begin', kind: 'run', job: 'j' };
  const prepared = next(after(stateOf(), run), {
    type: 'prepared',
    branch: 'b',
    baseBranch: 'main',
    base: 'b0',
    at: 1,
  });
  assert.deepEqual(prepared.effects, [{ type: 'write_handoff' }, { type: 'begin_next' }]);
  assert.equal(prepared.task.job, 'j');
  const reviewed = after(
    prepared.task,
    run,
    answered,
    { type: 'checked', gate: passedGate, use },
    { type: 'committed', commit: 'c1', files: ['a'] },
    run,
    answered,
    { type: 'reviewed', review },
    { type: 'committed', commit: 'c2', files: ['a'] },
  );
  assert.equal(
    `${reviewed.status} ${reviewed.isUnattended} ${reviewed.job}`,
    'pending_judge_review false undefined',
  );
  assert.deepEqual(effectsOf(reviewed), [{ type: 'write_handoff' }]);
});

test('a rollback drops the checkpoints after its commit', () => {
  const one = {
    phase: 'implementer',
    attempt: 1,
    commit: 'c1',
    model: 'm',
    tokens: 1,
    at: 0,
  } as const;
  const task = preparedState({
    status: 'human_consultation',
    checkpoints: [one, { ...one, phase: 'local_review', commit: 'c2' }],
    attempt: 2,
  });
  const back = after(
    task,
    { type: 'rollback', commit: 'c1' },
    { type: 'rolled_back', commit: 'c1', files: [] },
  );
  assert.equal(`${back.status} ${back.attempt}`, 'pending_local_review 1');
  assert.deepEqual(back.checkpoints, [one]);
  const whole = after(
    task,
    { type: 'rollback', commit: 'b0' },
    { type: 'rolled_back', commit: 'b0', files: [] },
  );
  assert.equal(whole.status, 'pending_implementer');
  assert.deepEqual(whole.checkpoints, []);
});

test('tokens and time are summed for all calls, and for each phase', () => {
  const task = after(preparedState(), implement, answered, malformed, answered);
  assert.deepEqual(task.totals, {
    calls: 2,
    promptTokens: 20,
    completionTokens: 10,
    workMs: 2_000,
    cost: 0,
  });
  assert.equal(task.phaseTokens, 30);
});

test('every transition is in the history, which has a maximum length', () => {
  let task = preparedState();
  for (let round = 0; round < 40; round++)
    task = after(task, implement, { type: 'halted', code: 'cancelled', message: 'x' });
  assert.equal(task.history.length, 50);
  assert.deepEqual(
    task.history.slice(-2).map(({ text }) => text),
    ['implementer began', 'halted: cancelled'],
  );
});
