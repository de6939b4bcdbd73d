import { type Html, html } from './html.ts';
import { type JobView, jobList } from './jobs.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';

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

/**
 * Install form, with the list of jobs. `problem` says why the form was refused; `asked` lists the settings to
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
${jobList(jobs, 'owner')}</section>`;
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
