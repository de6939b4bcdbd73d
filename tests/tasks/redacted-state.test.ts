import assert from 'node:assert/strict';
import { test } from 'vitest';
import { contractText } from '../../hub/tasks/contract-now.ts';
import { next } from '../../hub/tasks/next.ts';
import { redactedState } from '../../hub/tasks/redacted-state.ts';
import { reportsOf } from '../../hub/tasks/reports.ts';
import type { GateResult, TaskState } from '../../hub/tasks/task-state.ts';
import { redactText } from '#telemetry';
import { passedGate, preparedState } from './states.ts';

const secret = 'abcdefghij0123456789';
const key = `sk-proj-${secret}`;
const cutKey = `-----BEGIN PRIVATE KEY-----\n${secret}\n`;

const gate: GateResult = {
  ...passedGate,
  commands: [
    { command: 'node --test', exitCode: 1, output: `got ${key}`, durationMs: 1, timedOut: false },
  ],
};

/** Returns a task in which models, commands and the judge have written secrets into every field they can write. */
const leaky = (changes: Partial<TaskState>): TaskState =>
  preparedState({
    failures: [
      {
        phase: 'implementer',
        attempt: 1,
        cause: 'secret_found',
        detail: `it said ${key}`,
        output: cutKey,
        gate,
        at: 0,
      },
    ],
    gate,
    review: {
      passed: false,
      critical: changes.status === 'human_consultation',
      issues: [
        {
          path: 'src/sum.mjs',
          severity: 'critical',
          rule: `Rule ${key}`,
          quote: `const key = '${key}';`,
          why: `${key} is a key`,
        },
      ],
      dropped: 0,
    },
    judgeNotes: `remove ${key}`,
    why: `no ${key}`,
    halted: { code: 'internal', message: key },
    ...changes,
  });

const cases: Readonly<Record<string, Partial<TaskState>>> = {
  'REVIEW_REQUEST.md': { status: 'pending_judge_review' },
  'HALT.md': { status: 'human_consultation' },
  'STALL_REPORT.md': { status: 'human_consultation', review: undefined },
};
for (const [name, changes] of Object.entries(cases))
  test(`${name} and the contract have no secrets`, () => {
    const task = redactedState(leaky(changes), redactText);
    const report = new Map(Object.entries(reportsOf(task, undefined))).get(name) ?? '';
    assert.ok(reportOfLeaky(changes, name).includes(secret), 'it would have some');
    assert.ok(!`${report}${contractText(task)}${JSON.stringify(task)}`.includes(secret), report);
    if (name !== 'REVIEW_REQUEST.md')
      assert.match(report, /How to go on/, 'a key that is cut off hides its own text only');
  });

const reportOfLeaky = (changes: Partial<TaskState>, name: string) =>
  new Map(Object.entries(reportsOf(leaky(changes), undefined))).get(name) ?? '';

test('the stored end of an answer starts at a line, so it has no half of a secret', () => {
  const answer = `${'x'.repeat(50)}\n${key}\n${'rest\n'.repeat(797)}`;
  assert.equal(answer.slice(-4_000).split('\n')[0], secret.slice(-14), 'the limit is within it');
  const task = preparedState({ step: { kind: 'applying', answer, repaired: true } });
  const { failures } = next(task, { type: 'malformed', problem: 'no block', at: 0 }).task;
  assert.equal(failures[0]?.output, 'rest\n'.repeat(797));
});
