import { HubError, createEmitter } from '#core';
import type { TaskPipeline, TaskView } from '#tasks';
import { contractSchema } from '../../hub/tasks/contract.ts';

type Judged = { readonly id: string; readonly verdict: string; readonly notes: string | undefined };

/** Creates a pipeline without models, whose tasks the test sets. Records the commands that it receives. */
export function createTestPipeline() {
  const tasks = new Map<string, TaskView>();
  const events = createEmitter<{ readonly task: TaskView; readonly text: string }>();
  const done: string[] = [];
  const judged: Judged[] = [];
  let reads = 0;
  const state = {
    diff: { text: '', isTruncated: false },
    reports: new Map<string, string>(),
    fails: false,
  };

  function get(id: string): TaskView {
    const task = tasks.get(id);
    if (task) return task;
    throw new HubError('HUB_NAME_UNKNOWN', `no task ${id}`);
  }

  function put(view: TaskView): TaskView {
    tasks.set(view.id, view);
    events.fire({ task: view, text: 'changed' });
    return view;
  }

  const change = (id: string, more: Partial<TaskView>): TaskView => {
    const before = get(id);
    const history = more.status
      ? [...before.history, { at: 2, status: more.status, text: `it is ${more.status}` }]
      : before.history;
    return put({ ...before, ...more, history, updatedAt: before.updatedAt + 1 });
  };

  const none = async () => {
    throw new Error('the dashboard does not need it');
  };

  const pipeline: TaskPipeline = {
    service: { start: async () => {}, stop: async () => {} },
    list: () => [...tasks.values()],
    get,
    findByRepository: () => undefined,
    visibleTo: none,
    requireVisible: none,
    settled: none,
    create: none,
    setup: none,
    rollback: async id => change(id, {}),
    async begin(id, kind, { name }) {
      done.push(`${kind} ${id} by ${name}`);
      change(id, { doing: 'asking', commands: ['cancel'] });
      return { job: 'job-1' };
    },
    async reportJudge(id, judgement) {
      const { verdict = 'pass', notes } = judgement ?? {};
      judged.push({ id, verdict, notes });
      return change(id, {
        verdict,
        commands: verdict === 'pass' ? ['finalize', 'cancel'] : ['run'],
        ...(notes !== undefined && { judgeNotes: notes }),
      });
    },
    async finalize(id) {
      if (get(id).verdict !== 'pass')
        throw new HubError('HUB_REQUEST_INVALID', `${id} has no verdict of pass`);
      return change(id, { status: 'done', merged: 'a'.repeat(40), commands: [] });
    },
    cancel: async id => change(id, { status: 'cancelled', commands: [] }),
    async diff() {
      reads++;
      if (state.fails) throw new HubError('HUB_ENGINE_UNREACHABLE', 'no engine answers');
      return state.diff;
    },
    report: async (_id, name) => state.reports.get(name),
    events: events.event,
  };
  return { pipeline, put, change, done, judged, state, reads: () => reads };
}

const contract = contractSchema.parse({
  task_id: 'add-sum',
  specification: {
    goal: 'Add a function that sums <numbers>.',
    requirements: ['sum() adds all numbers'],
    target_file: 'sum.js',
  },
  roles: { implementer: 'qwen3:8b', local_reviewer: 'llama3.2:3b' },
  budget: { tokens: 50_000 },
});

/** Task that waits for its judge. */
export const waiting: TaskView = {
  id: 'add-sum',
  contract,
  repository: '/home/ada/code',
  principal: 'local',
  status: 'pending_judge_review',
  doing: 'idle',
  commands: ['report-judge', 'cancel'],
  attempt: 2,
  reviewAttempt: 1,
  failures: [
    {
      phase: 'implementer',
      attempt: 1,
      cause: 'gate_failed',
      detail: 'node --test failed',
      output: 'function sum(',
      at: 1,
    },
  ],
  branch: 'agenthub/add-sum',
  baseBranch: 'main',
  base: 'b'.repeat(40),
  checkpoints: [],
  changedFiles: ['sum.js'],
  gate: {
    passed: true,
    commands: [
      { command: 'node --test', exitCode: 0, output: '', durationMs: 1_200, timedOut: false },
    ],
    faults: [],
    secrets: [],
  },
  review: {
    passed: false,
    critical: false,
    issues: [
      {
        path: 'sum.js',
        line: 3,
        severity: 'minor',
        rule: 'naming',
        quote: 'let x',
        why: 'x says nothing',
      },
    ],
    dropped: 1,
  },
  judgeFails: 0,
  totals: { calls: 3, promptTokens: 1_200, completionTokens: 340, workMs: 95_000, cost: 0 },
  createdAt: 0,
  updatedAt: 60_000,
  history: [
    { at: 0, status: 'proposal', text: 'made' },
    { at: 1, status: 'pending_judge_review', text: 'the review found minor issues' },
  ],
};
