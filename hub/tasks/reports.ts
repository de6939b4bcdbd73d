import { describeGate } from './describe-gate.ts';
import type { FailedAttempt, TaskState } from './task-state.ts';
import type { TaskReportName } from './task-types.ts';

/** Reports to write, by file name. null removes a report; reports that are absent stay unchanged. */
type ReportTexts = Readonly<Partial<Record<TaskReportName, string | null>>>;

/** Returns the reports of a state. `diff`: diff of the whole task, if the state shows one. Pure. */
export function reportsOf(task: TaskState, diff: string | undefined): ReportTexts {
  const { status, review } = task;
  switch (status) {
    case 'pending_judge_review':
      return {
        'REVIEW_REQUEST.md': reviewRequest(task, diff ?? ''),
        'STALL_REPORT.md': null,
        'HALT.md': null,
      };
    case 'human_consultation':
      return review?.critical === true
        ? { 'HALT.md': halt(task, diff ?? ''), 'STALL_REPORT.md': null }
        : { 'STALL_REPORT.md': stallReport(task, diff), 'HALT.md': null };
    case 'pending_implementer':
    case 'pending_local_review':
      return {
        'REVIEW_REQUEST.md': null,
        'STALL_REPORT.md': null,
        'HALT.md': null,
        'JUDGE_REPORT.md': null,
      };
    case 'done':
      return { 'STALL_REPORT.md': null, 'HALT.md': null };
    default:
      return {};
  }
}

function reviewRequest(task: TaskState, diff: string): string {
  const { contract, review } = task;
  const id = contract.task_id;
  return page([
    `# Review request: ${id}`,
    'The local models have done what they can. Judge the change.',
    facts(task),
    `Pass: \`agenthub task report-judge ${id} --verdict pass\`, then \`agenthub task finalize ${id}\`.`,
    `Fail: \`agenthub task report-judge ${id} --verdict fail --notes "..."\`. Or write JUDGE_REPORT.md beside this file, with a line \`Verdict: PASS\` or \`Verdict: FAIL\`, and run \`agenthub task report-judge ${id}\`.`,
    ...contractPart(task),
    '## Checks',
    task.gate ? describeGate(task.gate) : 'None.',
    '## Local review',
    review ? describeReview(task) : 'None.',
    '## Diff',
    fenced(diff, 'diff'),
  ]);
}

function halt(task: TaskState, diff: string): string {
  return page([
    `# Halted: ${task.contract.task_id}`,
    'The local review has a critical finding. Nothing was merged. A person has to decide.',
    facts(task),
    '## Local review',
    describeReview(task),
    howToGoOn(task),
    '## Diff',
    fenced(diff, 'diff'),
  ]);
}

function stallReport(task: TaskState, diff: string | undefined): string {
  const { why, failures } = task;
  return page([
    `# A person is needed: ${task.contract.task_id}`,
    `Reason: ${why ?? 'unknown'}.`,
    facts(task),
    '## What was tried',
    ...(failures.length > 0 ? failures.map(describeFailure) : ['No attempt of a model failed.']),
    ...(task.judgeNotes === undefined ? [] : ['## Notes of the judge', task.judgeNotes]),
    howToGoOn(task),
    ...contractPart(task),
    ...(diff ? ['## Diff so far', fenced(diff, 'diff')] : []),
  ]);
}

const page = (parts: readonly string[]) => `${parts.join('\n\n')}\n`;

function facts(task: TaskState): string {
  const { contract, branch, baseBranch, checkpoints, totals, changedFiles } = task;
  const { roles } = contract;
  return [
    `- Repository: \`${task.repository}\``,
    ...(branch === undefined ? [] : [`- Branch: \`${branch}\`, from \`${baseBranch}\``]),
    `- Implementer: ${roles.implementer} (attempt ${task.attempt}), reviewer: ${roles.local_reviewer}`,
    `- Changed files: ${changedFiles.length > 0 ? changedFiles.map(file => `\`${file}\``).join(', ') : 'none'}`,
    ...checkpoints.map(
      ({ phase, commit, tokens }) =>
        `- Checkpoint of ${phase}: \`${commit.slice(0, 12)}\`, ${tokens} tokens`,
    ),
    `- Tokens: ${totals.promptTokens} read, ${totals.completionTokens} written, in ${totals.calls} calls and ${Math.round(totals.workMs / 1000)} s`,
    `- Cost: ${totals.cost}`,
  ].join('\n');
}

function contractPart({ contract }: TaskState): readonly string[] {
  const { specification: of } = contract;
  return [
    '## Contract',
    ...(of.goal === undefined ? [] : [of.goal]),
    [
      ...of.requirements.map(text => `- ${text}`),
      ...of.constraints.map(text => `- Constraint: ${text}`),
      `- Target: \`${of.target_file}\``,
    ].join('\n'),
  ];
}

function describeReview({ review, contract }: TaskState): string {
  if (!review) return 'None.';
  const { passed, critical, issues, dropped } = review;
  const verdict = critical ? 'Critical.' : passed ? 'Passed.' : 'Not passed, and nothing critical.';
  return [
    `${verdict} By ${contract.roles.local_reviewer}.`,
    ...issues.map(
      ({ path, line, severity, rule, quote, why }) =>
        `- ${severity}, \`${path}${line === undefined ? '' : `:${line}`}\`, ${rule}: ${why}\n\n${fenced(quote, '')}`,
    ),
    ...(dropped > 0
      ? [`${dropped} further findings were dropped, because they quote nothing of the diff.`]
      : []),
  ].join('\n\n');
}

function describeFailure({ phase, attempt, cause, detail, output, gate }: FailedAttempt): string {
  return [
    `### ${phase}, attempt ${attempt}: ${cause}`,
    detail,
    ...(gate ? [describeGate(gate)] : []),
    ...(output === '' ? [] : ['The end of the answer:', fenced(output, '')]),
  ].join('\n\n');
}

function howToGoOn({ contract, branch, verdict }: TaskState): string {
  const id = contract.task_id;
  return [
    '## How to go on',
    [
      `- Try again: change \`_handoff/TASK_CONTRACT.json\` if it is unclear, then \`agenthub task setup ${id}\` and \`agenthub task run ${id}\`.`,
      ...(branch === undefined
        ? []
        : [
            `- Go back to a checkpoint: \`agenthub task rollback ${id} --to COMMIT\`.`,
            `- Do it by hand: \`git switch ${branch}\` after \`agenthub task cancel ${id}\`.`,
          ]),
      ...(verdict === 'pass'
        ? [`- Merge again, once nothing is in its way: \`agenthub task finalize ${id}\`.`]
        : []),
      `- Give up: \`agenthub task cancel ${id}\`. The branch is kept.`,
    ].join('\n'),
  ].join('\n\n');
}

/** Returns the text in a Markdown fence that is longer than any run of backticks in the text. */
function fenced(text: string, language: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
