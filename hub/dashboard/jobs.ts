import type { JobState } from '#jobs';
import { type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';
import { type Tone, actionButton, badge, empty, fragment, notice, serverLink } from './pieces.ts';
import type { Rights } from './rights.ts';

/** A job, as shown on its page and in the list of jobs. */
export type JobView = {
  readonly id: string;
  readonly title: string;
  readonly state: JobState;
  /** Description of the current step; empty before the first one. */
  readonly progress: string;
  /** Output of the job since the start of the hub. */
  readonly lines: readonly { readonly step: string; readonly text: string }[];
  /** The server that the job installed. */
  readonly name: string | undefined;
  readonly warnings: readonly string[];
  /** Why the job did not succeed, and what to try. */
  readonly problem: string | undefined;
};

/** Page of all jobs, newest first. */
export const jobs = (all: readonly JobView[], rights: Rights): Html =>
  html`${heading('Jobs')}
<p class="lead">Long operations of the hub, such as installs, with the newest first. They continue when their page is closed.</p>
${jobsPartial(all, rights)}`;

/** Only the list of jobs. */
export const jobsPartial = (all: readonly JobView[], rights: Rights): Html =>
  fragment(
    { id: 'jobs', from: '/dashboard/jobs-partial', event: 'install' },
    jobList(all, rights, true),
  );

/** Lists jobs. Only the owner may open or cancel one. */
export function jobList(all: readonly JobView[], rights: Rights, isCancellable = false): Html {
  if (all.length === 0) return empty('None yet.');
  const isOwner = rights === 'owner';
  return html`<ul class="parts">${all.map(one => {
    const { id, title, state, progress } = one;
    const isRunning = state === 'running';
    const link = html`<a id="job-${id}" href="${paths.job(id)}">${title}</a>`;
    return html`<li><div class="heading">${isOwner ? link : title}${jobBadge(one)}</div>${isRunning && html`<p class="note">${progress}</p>`}${isRunning && isOwner && isCancellable && cancelButton(one)}</li>`;
  })}</ul>`;
}

const cancelButton = ({ id, title }: JobView) =>
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

const jobBadge = ({ state, name }: JobView) =>
  name === undefined ? badge(...tones[state]) : badge('good', 'installed');

/** Page of one job. */
export const job = (view: JobView): Html =>
  html`<p class="crumbs"><a href="${paths.jobs}">Jobs</a></p>
${heading(view.title)}
${jobPartial(view)}`;

/** Outcome and output of a job. */
export function jobPartial(view: JobView): Html {
  const { id, lines, state } = view;
  const content = html`<div class="card">${outcome(view)}</div>
<section><h2>Steps</h2>${lines.length === 0 ? empty(state === 'running' ? 'Not started yet.' : 'The steps were not stored.') : html`<pre id="steps-text" tabindex="0" role="region" aria-label="Steps" data-tail="yes">${lines.map(({ step, text }) => `${step.padEnd(9)}${text}\n`)}</pre>`}</section>`;
  // An ended job does not change, so it needs no updates.
  if (state !== 'running') return html`<div id="job">${content}</div>`;
  return fragment({ id: 'job', from: `${paths.job(id)}/partial`, event: 'install' }, content);
}

function outcome(view: JobView): Html {
  const { state, name, problem, warnings } = view;
  if (state === 'running') return html`<p>${jobBadge(view)}</p>${cancelButton(view)}`;
  if (state !== 'done')
    return html`${notice('bad', problem ?? 'It failed.')}<p><a class="button" href="${paths.install}">Try again</a></p>`;
  const done =
    name === undefined
      ? notice('good', 'Done.')
      : notice('good', 'Installed as ', serverLink(name), '. Clients can use its tools now.');
  return html`${done}${warnings.map(text => notice('bad', text))}`;
}
