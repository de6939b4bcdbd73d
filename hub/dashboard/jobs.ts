import { HubError } from '#core';
import { installKind } from '#installs';
import type { Job, JobState, Jobs } from '#jobs';
import { fileOnly, noticeOf } from './actions.ts';
import { type AskedSetting, confirmation } from './confirmation.ts';
import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import {
  type Rights,
  type Tone,
  actionButton,
  badge,
  empty,
  failed,
  fragment,
  heading,
  notice,
  serverLink,
} from './pieces.ts';

/** Creates the list of jobs, and the page of each job. */
export function jobPages({ jobs }: PageNeeds) {
  const frame = { title: 'Jobs', at: 'jobs', events: paths.events } as const;
  const list = (rights: Rights) =>
    fragment('jobs', '/dashboard/jobs-partial', jobList(jobs.list(), rights, true), 'install');
  const withJob =
    (show: (job: Job, request: DashboardRequest) => DashboardAnswer) =>
    async (request: DashboardRequest) => {
      const job = jobs.find(request.param('id'));
      return job ? show(job, request) : unknownJob;
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

const unknownJob: DashboardAnswer = failed(
  404,
  'Not found',
  'The hub has no such job: it stores only the newest ones.',
);

/** Lists jobs. Only the owner may open or cancel one. */
function jobList(jobs: readonly Job[], rights: Rights, isCancellable = false): Html {
  if (jobs.length === 0)
    return empty(
      'No jobs yet.',
      html`<p>Installs, documentation and other long work appear here.</p>`,
    );
  const isOwner = rights === 'owner';
  return html`<ul class="parts">${jobs.map(job => {
    const { id, title, state, progress } = job;
    const isRunning = state === 'running';
    const link = html`<a id="job-${id}" href="${paths.job(id)}">${title}</a>`;
    return html`<li><div class="heading">${isOwner ? link : title}${jobBadge(job)}</div>${isRunning && html`<p class="note">${progress?.text}</p>`}${isRunning && isOwner && isCancellable && cancelButton(job)}</li>`;
  })}</ul>`;
}

function cancelButton({ id, title }: Job): Html {
  const path = paths.action('cancel-install', id);
  return actionButton({ label: 'Cancel', about: title, path, id: `cancel-${id}` });
}

const tones: Readonly<Record<JobState, readonly [tone: Tone, text: string]>> = {
  running: ['busy', 'running'],
  done: ['good', 'done'],
  failed: ['bad', 'failed'],
  cancelled: ['idle', 'cancelled'],
  interrupted: ['bad', 'interrupted'],
};

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
  // An ended job does not change, so its page needs no updates.
  if (state !== 'running') return html`<div id="job">${content}</div>`;
  return fragment('job', `${paths.job(id)}/partial`, content, 'install');
}

function outcome(job: Job): Html {
  if (job.state === 'running') return html`<p>${jobBadge(job)}</p>${cancelButton(job)}`;
  if (job.state !== 'done')
    return html`${notice('bad', job.error.message)}${job.kind === installKind && html`<p><a class="button" href="${paths.install}">Try again</a></p>`}`;
  const name = installedBy(job);
  const { warnings } = job.result;
  const done =
    name === undefined
      ? ['Done.']
      : ['Installed as ', serverLink(name), '. Clients can use its tools now.'];
  return html`${notice('good', done)}${Array.isArray(warnings) && warnings.map(text => notice('bad', String(text)))}`;
}

/** The steps of an install before the last one, by the default runtime of servers. */
const stepsWith = {
  docker: 'The hub builds an image for the server, starts it once to read its tools, and',
  process:
    'No container engine answered when the hub started: the server runs as a process on this machine, with your permissions and without a sandbox. The hub starts it once to read its tools, and',
} as const;

type InstallForm = ReturnType<typeof installFormOf>;

/** Why a form is returned to the visitor: a problem, or settings beyond the default sandbox to confirm. */
type SentBack = { readonly problem?: string; readonly asked?: readonly AskedSetting[] };

/** Creates the page with the install form. Installs continue if the page is closed. */
export function installPages({ hub, installs, jobs, telemetry: { redact } }: PageNeeds) {
  const pageOf = (form: InstallForm, sentBack: SentBack = {}) => ({
    title: 'Install',
    at: 'install' as const,
    events: paths.events,
    main: html`${heading('Install a server')}
<p class="lead">${stepsWith[hub.backend]} adds it to the config file. If a step fails, everything is undone.</p>
${formWith(form, sentBack)}
<section aria-labelledby="jobs"><h2 id="jobs">Jobs</h2>
${jobList(jobs.list(), 'owner')}</section>`,
  });

  return {
    async install() {
      if (!installs) return fileOnly;
      return { page: pageOf(installFormOf(new URLSearchParams())) };
    },
    async beginInstall({ form: sent, principal }) {
      if (!installs) return fileOnly;
      const form = installFormOf(sent);
      const confirmed = sent.getAll('confirm');
      try {
        const body = bodyOf(form);
        const asked = await installs.review(await installs.read(body)).catch(leaveToJob);
        const names = asked.map(({ name }) => name);
        if (names.every(name => confirmed.includes(name))) {
          const wanted = await installs.read({ ...body, confirm: names });
          return { redirect: paths.job(installs.begin(wanted, principal().name).id) };
        }
        const shown = asked.map(({ name, message }) => ({
          name,
          message: redact(message),
          isAgreed: confirmed.includes(name),
        }));
        return { page: pageOf(form, { asked: shown }), status: 409 };
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        return { page: pageOf(form, { problem: redact(error.message) }), status: 400 };
      }
    },
  } satisfies Handlers;
}

/** Ignores errors in the entry itself, because the job reports them. */
function leaveToJob(error: unknown): readonly never[] {
  if (error instanceof HubError && error.code !== 'HUB_REQUEST_INVALID') return [];
  throw error;
}

function installFormOf(form: URLSearchParams) {
  const text = (name: string) => form.get(name) ?? '';
  return {
    package: text('package'),
    name: text('name'),
    transport: text('transport'),
    network: text('network'),
    args: text('args'),
    env: text('env'),
  };
}

/** Converts the form to the body of `POST /servers/install`. Throws HUB_REQUEST_INVALID. */
function bodyOf({ package: wanted, name, transport, network, args, env }: InstallForm): object {
  const given = (text: string) => (text.trim() === '' ? undefined : text.trim());
  const entries = linesOf(env).map(line => {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) return [key.trim(), value] as const;
    const problem = 'env: a line of the environment has no "=": write NAME=value';
    throw new HubError('HUB_REQUEST_INVALID', problem);
  });
  return {
    package: given(wanted),
    name: given(name),
    transport: given(transport),
    ...(network.trim() !== '' && { network: network.trim() }),
    args: args === '' ? undefined : linesOf(args),
    env: Object.fromEntries(entries),
  };
}

const linesOf = (text: string): readonly string[] =>
  text.split(/\r?\n/).filter(line => line.trim() !== '');

const formWith = (form: InstallForm, { problem, asked = [] }: SentBack): Html =>
  html`${problem !== undefined && html`<p class="notice bad" role="alert" id="problem">${problem}</p>`}
<form class="card" method="post" action="${paths.install}">
<p><label for="package">Package, image or address</label><input id="package" name="package" value="${form.package}" required autocomplete="off" spellcheck="false" aria-describedby="package-said"><span class="note" id="package-said"><code>@org/mcp-server</code> from npm, <code>uvx:mcp-server-time</code> from PyPI, <code>docker:image:tag</code>, or <code>https://example.com/mcp</code></span></p>
<p><label for="name">Name <span class="note">optional</span></label><input id="name" name="name" value="${form.name}" autocomplete="off" spellcheck="false" aria-describedby="name-said"><span class="note" id="name-said">Prefix of its tool names. Default: derived from the package.</span></p>
<details${moreIsGiven(form) && html` open`}><summary>More</summary>
<div class="card">
<p><label for="network">Network</label><select id="network" name="network">${choice('', 'default: none', form.network)}${choice('none', 'none', form.network)}${choice('bridge', 'the internet', form.network)}</select></p>
<p><label for="transport">Transport of a remote server</label><select id="transport" name="transport">${choice('', 'detect', form.transport)}${choice('http', 'streamable HTTP', form.transport)}${choice('sse', 'HTTP with SSE', form.transport)}</select></p>
<p><label for="args">Arguments <span class="note">one per line</span></label><textarea id="args" name="args" spellcheck="false">${form.args}</textarea></p>
<p><label for="env">Environment <span class="note">NAME=value, one per line</span></label><textarea id="env" name="env" spellcheck="false" autocomplete="off" aria-describedby="env-said">${form.env}</textarea><span class="note" id="env-said">Values are written to the config file. For a secret, write <code>NAME=\${NAME}</code> and set its value in the environment of the hub.</span></p>
</div></details>
${asked.length > 0 && confirmation(asked)}
<p><button class="primary" id="begin">Install</button></p>
</form>`;

const moreIsGiven = ({ network, transport, args, env }: InstallForm) =>
  [network, transport, args, env].some(value => value !== '');

const choice = (value: string, text: string, chosen: string) =>
  html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;
