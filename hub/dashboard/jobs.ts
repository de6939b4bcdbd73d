import { installKind } from '#installs';
import type { Job, JobState, Jobs } from '#jobs';
import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { type Html, html } from './html.ts';
import { noticeOf } from './notices.ts';
import { paths } from './paths.ts';
import {
  type Failure,
  type Rights,
  type Tone,
  actionButton,
  badge,
  empty,
  fragment,
  heading,
  notice,
  serverLink,
} from './pieces.ts';

/** The list of jobs, and the page of each. */
export function jobPages({ jobs }: PageNeeds) {
  const frame = { title: 'Jobs', at: 'jobs', events: paths.events } as const;
  const list = (rights: Rights): Html =>
    fragment(
      { id: 'jobs', from: '/dashboard/jobs-partial', event: 'install' },
      jobList(jobs.list(), rights, true),
    );
  const withJob =
    (show: (job: Job, request: DashboardRequest) => DashboardAnswer) =>
    async (request: DashboardRequest): Promise<DashboardAnswer> => {
      const job = jobs.find(request.param('id'));
      return job ? show(job, request) : { failure: unknownJob, status: 404 };
    };

  return {
    async jobs(request) {
      const main = html`${heading('Jobs')}
<p class="lead">Long operations of the hub, such as installs, with the newest first. They continue when their page is closed.</p>
${list(request.visitor.rights)}`;
      return { page: { ...frame, main, notice: noticeOf(request) } };
    },
    jobsPartial: async ({ visitor }) => ({ part: list(visitor.rights) }),
    job: withJob((job, request) => {
      const main = html`<p class="crumbs"><a href="${paths.jobs}">Jobs</a></p>
${heading(job.title)}
${jobPartial(job, jobs.linesOf(job.id))}`;
      const reloads = job.state === 'running' && { reloadSeconds: 3 };
      return { page: { ...frame, main, notice: noticeOf(request), ...reloads } };
    }),
    jobPartial: withJob(job => ({ part: jobPartial(job, jobs.linesOf(job.id)) })),
  } satisfies Handlers;
}

const unknownJob: Failure = {
  title: 'Not found',
  message: 'The hub has no such job: it stores only the newest ones.',
};

/** Lists jobs. Only the owner may open or cancel one. */
export function jobList(jobs: readonly Job[], rights: Rights, isCancellable = false): Html {
  if (jobs.length === 0) return empty('None yet.');
  const isOwner = rights === 'owner';
  return html`<ul class="parts">${jobs.map(job => {
    const { id, title, state, progress } = job;
    const isRunning = state === 'running';
    const link = html`<a id="job-${id}" href="${paths.job(id)}">${title}</a>`;
    return html`<li><div class="heading">${isOwner ? link : title}${jobBadge(job)}</div>${isRunning && html`<p class="note">${progress?.text}</p>`}${isRunning && isOwner && isCancellable && cancelButton(job)}</li>`;
  })}</ul>`;
}

const cancelButton = ({ id, title }: Job) =>
  actionButton({
    label: 'Cancel',
    about: title,
    path: paths.action('cancel-install', id),
    id: `cancel-${id}`,
  });

const tones: Readonly<Record<JobState, readonly [tone: Tone, text: string]>> = {
  running: ['busy', 'running'],
  done: ['good', 'done'],
  failed: ['bad', 'failed'],
  cancelled: ['idle', 'cancelled'],
  interrupted: ['bad', 'interrupted'],
};

/** The server that a job has installed. */
function installedBy(job: Job): string | undefined {
  if (job.state !== 'done' || job.kind !== installKind) return undefined;
  const { name } = job.result;
  return typeof name === 'string' ? name : undefined;
}

const jobBadge = (job: Job) =>
  installedBy(job) === undefined ? badge(...tones[job.state]) : badge('good', 'installed');

function jobPartial(job: Job, lines: ReturnType<Jobs['linesOf']>): Html {
  const { id, state } = job;
  const content = html`<div class="card">${outcome(job)}</div>
<section><h2>Steps</h2>${lines.length === 0 ? empty(state === 'running' ? 'Not started yet.' : 'The steps were not stored.') : html`<pre id="steps-text" tabindex="0" role="region" aria-label="Steps" data-tail="yes">${lines.map(({ step, text }) => `${step.padEnd(9)}${text}\n`)}</pre>`}</section>`;
  // An ended job does not change, so it needs no updates.
  if (state !== 'running') return html`<div id="job">${content}</div>`;
  return fragment({ id: 'job', from: `${paths.job(id)}/partial`, event: 'install' }, content);
}

function outcome(job: Job): Html {
  if (job.state === 'running') return html`<p>${jobBadge(job)}</p>${cancelButton(job)}`;
  if (job.state !== 'done')
    return html`${notice('bad', job.error.message)}<p><a class="button" href="${paths.install}">Try again</a></p>`;
  const name = installedBy(job);
  const { warnings } = job.result;
  const done =
    name === undefined
      ? notice('good', 'Done.')
      : notice('good', 'Installed as ', serverLink(name), '. Clients can use its tools now.');
  return html`${done}${Array.isArray(warnings) && warnings.map(text => notice('bad', String(text)))}`;
}
