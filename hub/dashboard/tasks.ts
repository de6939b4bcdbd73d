import { HubError } from '#core';
import type { TaskPipeline, TaskView } from '#tasks';
import { answerOf, having, noticeOf } from './actions.ts';
import type { DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { ago, brief, count } from './format.ts';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import {
  type Rights,
  actionButton,
  empty,
  failed,
  fragment,
  heading,
  ownersOnly,
  table,
} from './pieces.ts';
import {
  diffOf,
  factsOf,
  findingsOf,
  historyOf,
  reportsOf,
  statusOf,
  wayOf,
} from './task-parts.ts';
import { createTaskFiles } from './task-reports.ts';

type Needs = {
  readonly hub: Pick<PageNeeds['hub'], 'tasks'>;
  readonly system: { readonly clock: { readonly now: () => number } };
};

const frame = { at: 'tasks', events: paths.events } as const;

/**
 * Creates the list of tasks, and the page of each task: state, diff, review, reports, history, and actions of a person.
 */
export function taskPages({ hub: { tasks }, system: { clock } }: Needs) {
  const files = tasks && createTaskFiles(tasks);

  const withTasks = having(tasks, noTasks);

  const list = ({ rights }: { readonly rights: Rights }) =>
    fragment('tasks', `${paths.tasks}-partial`, taskList(tasks, rights, clock.now()), 'task');

  const state = (view: TaskView) =>
    fragment('task', paths.taskPart(view.id, 'state'), stateOf(view, clock.now()));

  async function work(view: TaskView, signal: AbortSignal): Promise<Html> {
    const { diff, reports } = await readFiles(view, signal);
    const content = html`<section aria-labelledby="findings"><h2 id="findings">Checks and review</h2>
${findingsOf(view)}</section>
<section aria-labelledby="changes"><h2 id="changes">Changes</h2>
${typeof diff === 'string' ? html`<p class="notice bad">${diff}</p>` : diffOf(diff, view.branch)}</section>
<section aria-labelledby="reports"><h2 id="reports">Reports</h2>
${reportsOf(reports)}</section>
<section aria-labelledby="history"><h2 id="history">History</h2>
${historyOf(view)}</section>`;
    return fragment('work', paths.taskPart(view.id, 'work'), content, 'task');
  }

  /** Reads diff and reports of a task. If git does not answer, the page is shown without them. */
  async function readFiles(view: TaskView, signal: AbortSignal) {
    try {
      return (await files?.(view, signal)) ?? { diff: '', reports: [] };
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      return { diff: `The changes cannot be read: ${error.message}`, reports: [] };
    }
  }

  async function page(all: TaskPipeline, request: DashboardRequest, notice?: Html) {
    const view = all.get(request.param('id'));
    const main = html`<p class="crumbs"><a href="${paths.tasks}">Tasks</a></p>
${heading(view.id)}
<p class="lead">${goalOf(view)}</p>
${state(view)}
${await work(view, request.signal)}`;
    return { ...frame, title: view.id, main, notice };
  }

  const act =
    (
      done: 'task-run' | 'task-cancel' | 'task-finalize' | 'task-verdict',
      work: (all: TaskPipeline, id: string, request: DashboardRequest) => Promise<unknown>,
    ) =>
    async (all: TaskPipeline, request: DashboardRequest) => {
      const { id } = all.get(request.param('id'));
      await work(all, id, request);
      return answerOf(request, { done, about: id, page: paths.task(id) });
    };

  return {
    async tasks(request) {
      const main = html`${heading('Tasks')}
<p class="lead">A local model implements a contract on a branch, checks and a second model review it, and a judge decides.</p>
${list(request.visitor)}`;
      return { page: { ...frame, title: 'Tasks', main, notice: noticeOf(request) } };
    },
    tasksPartial: async ({ visitor }) => ({ part: list(visitor) }),
    task: withTasks(async (all, request) => ({
      page: await page(all, request, noticeOf(request)),
    })),
    taskStatePartial: withTasks(async (all, { param }) => ({ part: state(all.get(param('id'))) })),
    taskWorkPartial: withTasks(async (all, { param, signal }) => ({
      part: await work(all.get(param('id')), signal),
    })),
    runTask: withTasks(
      act('task-run', (all, id, request) => all.begin(id, 'run', request.principal())),
    ),
    cancelTask: withTasks(
      act('task-cancel', (all, id, request) => all.cancel(id, request.principal())),
    ),
    finalizeTask: withTasks(
      act('task-finalize', (all, id, request) => all.finalize(id, request.principal())),
    ),
    judgeTask: withTasks(
      act('task-verdict', async (all, id, request) => {
        const verdict = verdictIn(request.form);
        const notes = (request.form.get('notes') ?? '').trim();
        const judgement = { verdict, ...(notes !== '' && { notes }) };
        return await all.reportJudge(id, judgement, request.principal());
      }),
    ),
  } satisfies Handlers;
}

const noTasks = failed(409, 'No tasks', 'This hub runs no tasks.');

function verdictIn(form: URLSearchParams): 'pass' | 'fail' {
  const verdict = form.get('verdict');
  if (verdict === 'pass' || verdict === 'fail') return verdict;
  throw new HubError('HUB_REQUEST_INVALID', 'verdict: choose pass or fail');
}

function taskList(tasks: TaskPipeline | undefined, rights: Rights, now: number): Html {
  if (!tasks) return empty('This hub runs no tasks.');
  // Only the owner may see contracts and paths.
  if (rights !== 'owner') return ownersOnly(rights, 'The list of tasks');
  const all = tasks.list();
  if (all.length === 0)
    return empty(
      'No task yet.',
      html`<p><code>agenthub task new</code> in a repository writes the contract of one.</p>`,
    );
  return table('Tasks', all, [
    ['Task', ({ id }) => html`<a id="task-${id}" href="${paths.task(id)}">${id}</a>`],
    ['State', view => html`${statusOf(view)}${view.halted && ' (halted)'}`],
    ['Goal', view => brief(goalOf(view))],
    ['Repository', ({ repository }) => html`<code>${repository}</code>`],
    ['Tokens', ({ totals }) => count(totals.promptTokens + totals.completionTokens), 'number'],
    ['Updated', ({ updatedAt }) => ago(updatedAt, now)],
  ]);
}

function goalOf({ contract }: TaskView): string {
  const { goal, requirements } = contract.specification;
  return goal ?? requirements[0] ?? '';
}

function stateOf(view: TaskView, now: number): Html {
  const { id, commands, doing, why, halted, verdict, judgeNotes } = view;
  const button = (command: string, label: string, action: 'run' | 'cancel' | 'finalize') =>
    commands.includes(command) &&
    actionButton({
      label,
      about: id,
      path: paths.action(`task-${action}`, id),
      id: `${action}-task`,
      ...(action === 'cancel' && { tone: 'danger' as const }),
    });
  return html`${wayOf(view)}
<div class="card"><div class="heading">${statusOf(view)}<span class="note">${doing !== 'idle' && doing.replaceAll('_', ' ')}</span><div class="actions">${button('run', 'Run', 'run')}${button('finalize', 'Finalize', 'finalize')}${button('cancel', 'Cancel', 'cancel')}</div></div>
${why !== undefined && html`<p class="notice bad">A person is needed: ${why}</p>`}
${halted && html`<p class="notice bad">The last phase was halted, and nothing was changed: ${halted.message} (${halted.code})</p>`}
${verdict && html`<p class="notice ${verdict === 'pass' ? 'good' : 'bad'}">Verdict of the judge: ${verdict}${judgeNotes !== undefined && `. ${judgeNotes}`}</p>`}
${factsOf(view, now)}
${commands.length > 0 && html`<p class="note">On the command line: ${commands.map((command, at) => html`${at > 0 && ', '}<code>agenthub task ${command} ${id}</code>`)}</p>`}</div>
${commands.includes('report-judge') && verdictForm(id)}`;
}

const verdictForm = (id: string): Html =>
  html`<form class="card" method="post" action="${paths.action('task-verdict', id)}" id="verdict-form" hx-preserve="true"><h2>Verdict</h2>
<p><label for="notes">Notes for the implementer</label><textarea id="notes" name="notes" aria-describedby="notes-said"></textarea><span class="note" id="notes-said">Needed for a fail: they go into the next prompt.</span></p>
<div class="actions"><button class="primary" id="verdict-pass" name="verdict" value="pass">Pass</button><button class="danger" id="verdict-fail" name="verdict" value="fail">Fail</button></div></form>`;
