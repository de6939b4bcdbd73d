import { hash } from 'node:crypto';
import type { TaskView } from '#tasks';
import { count, counted, duration, moment } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { type Tone, badge, empty, facts, payload, table } from './pieces.ts';
import type { TaskFiles } from './task-reports.ts';

type Status = TaskView['status'];

/** States of a task without problems, in their order. */
const way = [
  ['proposal', 'Proposal'],
  ['pending_implementer', 'Implementer'],
  ['pending_local_review', 'Local review'],
  ['pending_judge_review', 'Judge'],
  ['done', 'Done'],
] as const satisfies readonly (readonly [Status, string])[];

const tones: Readonly<Record<Status, Tone>> = {
  proposal: 'idle',
  pending_implementer: 'busy',
  pending_local_review: 'busy',
  pending_judge_review: 'warn',
  done: 'good',
  human_consultation: 'bad',
  cancelled: 'idle',
};

/** Maximum number of lines of a diff on a page. */
const maxDiffLines = 2_000;

export const statusOf = ({ status }: Pick<TaskView, 'status'>): Html =>
  badge(tones[status], status.replaceAll('_', ' '));

/**
 * Shows the usual states of a task in a row, with the current one marked, or the last one before the task left that
 * row.
 */
export function wayOf({ status, history }: Pick<TaskView, 'status' | 'history'>): Html {
  const isOnWay = (one: Status) => way.some(([step]) => step === one);
  const last = isOnWay(status) ? status : history.findLast(note => isOnWay(note.status))?.status;
  const at = way.findIndex(([step]) => step === last);
  const steps = way.map(([step, text], index) => {
    const state = index < at || status === 'done' ? 'past' : index === at ? 'now' : 'ahead';
    const current = step === status && html` aria-current="step"`;
    return html`<li class="${state}"${current}>${text}${state === 'past' && html`<span class="unseen"> (past)</span>`}</li>`;
  });
  return html`<ol class="way" aria-label="States of the task">${steps}</ol>`;
}

/** Shows the resources that a task has used, and its repository and branch. */
export function factsOf(view: TaskView, now: number): Html {
  const { contract, totals, attempt, reviewAttempt, branch, baseBranch, merged } = view;
  const { budget, roles } = contract;
  const limits = [
    ...(budget.tokens === undefined ? [] : [`${count(budget.tokens)} tokens`]),
    ...(budget.minutes === undefined ? [] : [`${budget.minutes} minutes`]),
  ];
  return facts([
    ['Repository', html`<code>${view.repository}</code>`],
    ['Target', html`<code>${contract.specification.target_file}</code>`],
    ['Branch', branch && html`<code>${branch}</code> from <code>${baseBranch}</code>`],
    ['Merged', merged && html`<code>${merged.slice(0, 12)}</code>`],
    ['Implementer', `${roles.implementer}, attempt ${attempt}`],
    ['Reviewer', `${roles.local_reviewer}, attempt ${reviewAttempt}`],
    [
      'Tokens',
      `${count(totals.promptTokens)} in, ${count(totals.completionTokens)} out, in ${counted(totals.calls, 'call')}`,
    ],
    ['Time', duration(totals.workMs)],
    ['Cost', totals.cost === 0 ? '0: local models' : String(totals.cost)],
    ['Budget', limits.join(', ') || 'none'],
    ['Updated', moment(view.updatedAt, 'date')],
    ['Age', duration(now - view.createdAt)],
  ]);
}

/** Shows the results of the checks and of the review, and failed attempts. */
export function findingsOf({ gate, review, failures }: TaskView): Html {
  if (!gate && !review && failures.length === 0) return empty('Nothing was checked yet.');
  return html`${gate && gateOf(gate)}
${review && reviewOf(review)}
${failures.length > 0 && html`<h3>Failed attempts</h3>${failures.map(failureOf)}`}`;
}

function gateOf({ passed, commands, faults, secrets }: NonNullable<TaskView['gate']>): Html {
  const rows = [
    ...commands.map(({ command, exitCode, timedOut, durationMs }) => ({
      what: html`<code>${command}</code>`,
      outcome: timedOut ? 'timed out' : `exit code ${exitCode ?? 'unknown'}`,
      more: duration(durationMs),
    })),
    ...faults.map(({ path, why }) => ({
      what: html`<code>${path}</code>`,
      outcome: why,
      more: '',
    })),
    ...secrets.map(({ path, line, what }) => ({
      what: html`<code>${path}:${line}</code>`,
      outcome: `secret: ${what}`,
      more: '',
    })),
  ];
  return html`<h3>Checks ${badge(passed ? 'good' : 'bad', passed ? 'passed' : 'failed')}</h3>
${
  rows.length > 0 &&
  table('Checks', rows, [
    ['Check', ({ what }) => what],
    ['Outcome', ({ outcome }) => outcome],
    ['Time', ({ more }) => more],
  ])
}`;
}

function reviewOf({ passed, critical, issues, dropped }: NonNullable<TaskView['review']>): Html {
  const verdict: readonly [Tone, string] = critical
    ? ['bad', 'critical']
    : passed
      ? ['good', 'passed']
      : ['warn', 'minor issues'];
  return html`<h3>Local review ${badge(...verdict)}</h3>
${
  issues.length > 0 &&
  table('Issues of the review', issues, [
    [
      'Place',
      ({ path, line }) => html`<code>${line === undefined ? path : `${path}:${line}`}</code>`,
    ],
    ['Severity', ({ severity }) => badge(severity === 'minor' ? 'warn' : 'bad', severity)],
    ['Rule', ({ rule }) => rule],
    ['Why', ({ why, quote }) => html`${why} <code>${quote}</code>`],
  ])
}
${dropped > 0 && html`<p class="note">${counted(dropped, 'issue')} of the reviewer quoted what the diff does not have, and was left out.</p>`}`;
}

function failureOf(failure: TaskView['failures'][number]): Html {
  const { phase, attempt, cause, detail, output, at } = failure;
  return html`<details id="failure-${at}" hx-preserve="true"><summary>${badge('bad', cause)} ${phase === 'implementer' ? 'Implementer' : 'Local review'}, attempt ${attempt}, ${moment(at)}</summary>
<p>${detail}</p>
${output !== '' && payload(output, `Answer of attempt ${attempt}`)}</details>`;
}

/** Shows a diff with added and removed lines marked. */
export function diffOf({ text, isTruncated }: TaskFiles['diff'], branch: string | undefined): Html {
  if (text.trim() === '') return empty('No changes yet.');
  const lines = text.replace(/\n$/, '').split('\n');
  const isCut = isTruncated || lines.length > maxDiffLines;
  return html`<pre class="diff" tabindex="0" role="region" aria-label="Diff">${lines.slice(0, maxDiffLines).map(lineOf)}</pre>
${isCut && html`<p class="note">The diff is longer: <code>git diff ${branch ?? 'the branch'}</code> shows all of it.</p>`}`;
}

/** Classes of the lines of a diff by how a line begins. The first that matches counts. */
const lineKinds = [
  [/^(?:\+\+\+|---|diff |index )/, 'head'],
  [/^\+/, 'added'],
  [/^-/, 'removed'],
  [/^@@/, 'hunk'],
] as const;

function lineOf(line: string): Html {
  const kind = lineKinds.find(([start]) => start.test(line))?.[1];
  const shown: Content = kind === undefined ? line : html`<span class="${kind}">${line}</span>`;
  return html`${shown}\n`;
}

/**
 * Returns the id of a report's element, which changes with its text, because htmx keeps the content of a preserved
 * element. Contains no dot, as htmx puts the id into a selector.
 */
const idOf = (name: string, text: string): string =>
  `report-${name.replace('.md', '')}-${hash('sha256', text).slice(0, 8)}`;

/** Shows the reports, each in a box that opens. */
export const reportsOf = (reports: TaskFiles['reports']): Content =>
  reports.length === 0 ? empty('No reports yet.') : reports.map(reportOf);

const reportOf = ({ name, text }: TaskFiles['reports'][number]): Html =>
  html`<details id="${idOf(name, text)}" hx-preserve="true"><summary><code>${name}</code></summary>
${payload(text, name)}</details>`;

export const historyOf = ({ history }: Pick<TaskView, 'history'>): Html =>
  history.length === 0
    ? empty('Nothing has happened yet.')
    : table('History', history.toReversed(), [
        ['Time', ({ at }) => moment(at, 'date')],
        ['State', statusOf],
        ['What happened', ({ text }) => text],
      ]);
