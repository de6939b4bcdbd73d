import type { JobState } from '#jobs';
import { type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';
import { type Tone, actionButton, badge, empty, fragment, notice, serverLink } from './pieces.ts';

/** Values of the form, by field name. */
export type InstallForm = Readonly<
  Record<'package' | 'name' | 'transport' | 'network' | 'args' | 'env', string>
>;

export const emptyForm: InstallForm = {
  package: '',
  name: '',
  transport: '',
  network: '',
  args: '',
  env: '',
};

/** A setting beyond the default sandbox that the entry needs. */
export type RequestedSetting = {
  readonly name: string;
  readonly message: string;
  /** True if the user confirmed it when the form was sent. */
  readonly isAgreed: boolean;
};

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

/**
 * Install form, with the installs in progress. `problem` says why the form was refused; `asked` lists the settings to
 * confirm.
 */
export function install(
  form: InstallForm,
  jobs: readonly JobView[],
  problem: string | undefined,
  asked: readonly RequestedSetting[] = [],
): Html {
  return html`${heading('Install a server')}
<p class="lead">The hub builds an image for the server, starts it once to read its tools, and adds it to the config file. If a step fails, everything is undone.</p>
${problem !== undefined && html`<p class="notice bad" role="alert" id="problem">${problem}</p>`}
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
</form>
<section aria-labelledby="jobs"><h2 id="jobs">Jobs</h2>
${jobs.length === 0 ? empty('None yet.') : html`<ul class="parts">${jobs.map(one => html`<li><div class="heading"><a href="${paths.job(one.id)}">${one.title}</a>${jobBadge(one)}</div>${one.state === 'running' && html`<p class="note">${one.progress}</p>`}</li>`)}</ul>`}</section>`;
}

/** A checkbox per setting. The browser requires all of them before it sends the form. */
const confirmation = (asked: readonly RequestedSetting[]) =>
  html`<fieldset class="notice bad" id="confirm"><legend>This server needs more than the default sandbox</legend>
${asked.map(({ name, message, isAgreed }) => html`<p><label><input type="checkbox" name="confirm" value="${name}" required${isAgreed && html` checked`}> ${message} <code>${name}</code></label></p>`)}
<p class="note">Nothing was installed yet. Check what you allow and install it, or change the form.</p></fieldset>`;

const moreIsGiven = ({ network, transport, args, env }: InstallForm) =>
  [network, transport, args, env].some(value => value !== '');

const choice = (value: string, text: string, chosen: string) =>
  html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;

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
  html`<p class="crumbs"><a href="${paths.install}">Install</a></p>
${heading(view.title)}
${jobPartial(view)}`;

/** Progress of a job. */
export function jobPartial(view: JobView): Html {
  const { id, state, lines, problem, name, warnings } = view;
  const outcome =
    state === 'running'
      ? html`<p>${jobBadge(view)}</p>${actionButton({ label: 'Cancel', path: paths.action('cancel-install', id), id: 'cancel' })}`
      : state === 'done'
        ? html`${name === undefined ? notice('good', 'Done.') : notice('good', 'Installed as ', serverLink(name), '. Clients can use its tools now.')}${warnings.map(text => notice('bad', text))}`
        : html`${notice('bad', problem ?? 'It failed.')}<p><a class="button" href="${paths.install}">Try again</a></p>`;
  const content = html`<div class="card">${outcome}</div>
<section><h2>Steps</h2>${lines.length === 0 ? empty(state === 'running' ? 'Not started yet.' : 'The steps were not stored.') : html`<pre id="steps-text" tabindex="0" role="region" aria-label="Steps" data-tail="yes">${lines.map(({ step, text }) => `${step.padEnd(9)}${text}\n`)}</pre>`}</section>`;
  // A finished job does not change, so it needs no updates.
  if (state !== 'running') return html`<div id="job">${content}</div>`;
  return fragment({ id: 'job', from: `${paths.job(id)}/partial`, event: 'install' }, content);
}
