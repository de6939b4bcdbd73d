import type { CatalogCard } from '#catalog';
import { type JsonObject, HubError } from '#core';
import type { FormField, InstallOption } from '#installs';
import { type AskedSetting, confirmation } from './confirmation.ts';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { notice, optionsOf } from './pieces.ts';

type Shown = {
  /** Position of this option among the server's options. */
  readonly number: number;
  readonly card: Pick<CatalogCard, 'name' | 'version'>;
  /** False if the hub cannot change its config file. */
  readonly isInstallable: boolean;
  /** Values of an earlier submission of the form. */
  readonly sent: URLSearchParams | undefined;
  readonly asked: readonly AskedSetting[];
};

const titles = {
  npm: 'npm package',
  pypi: 'PyPI package',
  oci: 'Image',
  remote: 'Remote server',
  other: 'Package',
} as const;

/** Returns the form of one option to install a server, or the reason why the option is refused. */
export function optionForm(option: InstallOption, shown: Shown): Html {
  const { kind, what, refusal } = option;
  const id = `option-${shown.number}`;
  const title = html`<h2 id="${id}">${titles[kind]}</h2><p><code>${what}</code></p>`;
  if (refusal !== undefined || !shown.isInstallable)
    return html`<section class="card" aria-labelledby="${id}">${title}${refusal !== undefined && notice('bad', `Refused: ${refusal}.`)}</section>`;
  const { card, number, sent, asked } = shown;
  const idOf = (name: string) => `${id}-${name}`;
  return html`<form class="card" method="post" action="${paths.catalogServer}" aria-labelledby="${id}">${title}
<input type="hidden" name="server" value="${card.name}"><input type="hidden" name="version" value="${card.version}"><input type="hidden" name="option" value="${number}">
${option.fields.map((field, at) => fieldInput(field, idOf(String(at)), sent?.get(`field.${field.path}`) ?? undefined))}
<p><label for="${idOf('name')}">Name <span class="note">optional</span></label><input id="${idOf('name')}" name="name" value="${sent?.get('name') ?? ''}" autocomplete="off" spellcheck="false"></p>
${kind !== 'remote' && sandboxInputs(option, idOf, sent)}
${asked.length > 0 && confirmation(asked)}
<p><button class="primary" id="${idOf('begin')}">Install</button></p>
</form>`;
}

function fieldInput(field: FormField, id: string, sent: string | undefined): Html {
  const { label, description, isRequired, isSecret } = field;
  const about = `${id}-said`;
  const marks = isRequired ? undefined : html` <span class="note">optional</span>`;
  const said = [
    description,
    isSecret && 'Stored with the secrets of the hub; the config refers to it.',
    field.format === 'filepath' && 'A path inside the container: give the folder below.',
  ].filter(text => text !== false && text !== '');
  return html`<p><label for="${id}">${label}${marks}</label>${inputOf(field, id, about, sent)}<span class="note" id="${about}">${said.map((text, at) => [at > 0 && ' · ', text])}</span></p>`;
}

function inputOf(field: FormField, id: string, about: string, sent: string | undefined): Html {
  const { path, isRequired, isSecret, format, choices, placeholder } = field;
  const value = sent ?? field.default;
  const name = `field.${path}`;
  const required = isRequired && html` required`;
  if (choices.length > 0 || format === 'boolean') {
    const all = choices.length > 0 ? choices : ['true', 'false'];
    return html`<select id="${id}" name="${name}" aria-describedby="${about}"${required}>${optionsOf(isRequired ? all : ['', ...all], value)}</select>`;
  }
  // Show a reference such as `${secret:NAME}` in plain text, as it is not a secret itself.
  const type = isSecret && !value.startsWith('${') ? 'password' : 'text';
  return html`<input id="${id}" name="${name}" type="${type}" value="${value}" placeholder="${placeholder}" autocomplete="${isSecret ? 'new-password' : 'off'}" spellcheck="false" aria-describedby="${about}"${format === 'number' && html` inputmode="decimal"`}${required}>`;
}

function sandboxInputs(
  { wants }: InstallOption,
  idOf: (name: string) => string,
  sent: URLSearchParams | undefined,
): Html {
  const [mounts, network] = [sent?.get('mounts') ?? '', sent?.get('network') ?? ''];
  const isOpen = wants.length > 0 || mounts !== '' || network !== '';
  const choice = (value: string, text: string) =>
    html`<option value="${value}"${value === network && html` selected`}>${text}</option>`;
  return html`<details${isOpen && html` open`}><summary>Folders and network</summary>
<p><label for="${idOf('mounts')}">Folders <span class="note">one per line</span></label><textarea id="${idOf('mounts')}" name="mounts" spellcheck="false" aria-describedby="${idOf('mounts-said')}">${mounts}</textarea><span class="note" id="${idOf('mounts-said')}">${wants.includes('mounts') && 'It asks for folders. '}<code>/home/me/notes:/notes</code> can be read, <code>/home/me/notes:/notes:rw</code> also written</span></p>
<p><label for="${idOf('network')}">Network</label><select id="${idOf('network')}" name="network" aria-describedby="${idOf('network-said')}">${choice('', 'default: none')}${choice('none', 'none')}${choice('bridge', 'the internet')}</select><span class="note" id="${idOf('network-said')}">${wants.includes('network') && 'It asks for a network.'}</span></p></details>`;
}

/** Converts a form to the body of `POST /catalog/install`. Throws HUB_REQUEST_INVALID. */
export function catalogBodyOf(form: URLSearchParams): JsonObject {
  const text = (name: string) => form.get(name)?.trim() ?? '';
  const option = Number(form.get('option') ?? NaN);
  if (!Number.isSafeInteger(option))
    throw new HubError('HUB_REQUEST_INVALID', 'option: write a whole number');
  const groups: Record<string, Record<string, string>> = {};
  for (const [name, value] of form) {
    const [, part, key] = /^field\.(env|headers|variables)\.(.+)$/s.exec(name) ?? [];
    if (part !== undefined && key !== undefined && value !== '') (groups[part] ??= {})[key] = value;
  }
  const mounts = text('mounts')
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '');
  return {
    server: text('server'),
    ...(text('version') !== '' && { version: text('version') }),
    option,
    ...groups,
    ...(text('name') !== '' && { name: text('name') }),
    ...(mounts.length > 0 && { mounts }),
    ...(text('network') !== '' && { network: text('network') }),
    confirm: form.getAll('confirm'),
  };
}
