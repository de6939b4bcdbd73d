import { filled } from '#clients';
import { visible } from '#definitions';
import { HubError, type JsonObject, isObject } from '#core';
import { mountsOf } from '../add-request.ts';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { allowOption, doConfirmed } from '../confirm.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { type entryOptions, inOptionsOf } from '../option-faults.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { count, numberOf, textOf, textsOf, usageError, wordOf } from '../values.ts';
import { followWork } from '../work-stream.ts';
import { remarkSource } from './search.ts';

/** `agenthub install NAME`: installs a server of the catalog. */
export const install: Command = {
  name: 'install',
  summary: 'Install a server that "agenthub search" found.',
  positionals: [
    { name: 'server', help: 'Its name in the registry, such as io.github.someone/server.' },
  ],
  options: {
    version: { value: 'version', help: 'A version in the registry. Default: the newest.' },
    option: {
      value: 'number',
      help: 'One of several packages or addresses, as listed. Default: the first that can be installed.',
    },
    name: { value: 'name', help: 'Name of the server in the hub. Default: derived from its own.' },
    set: {
      value: 'K=V',
      multiple: true,
      help: 'A value that it asks for, by the name that is listed. Repeatable.',
    },
    mount: {
      value: 'from:to[:rw]',
      multiple: true,
      help: 'Folder that the server may read, or write with ":rw". Repeatable.',
    },
    network: {
      value: 'mode',
      completion: ['none', 'bridge'],
      help: 'bridge: the server can reach the network, through a proxy. Default: none.',
    },
    'dry-run': { help: 'Only show what it is and what it asks for.' },
    allow: allowOption,
    ...hubOptions,
  },
  details: [
    'On a terminal it asks for the values that the publisher declares as required. Secrets are typed hidden, stored as "agenthub secret set" does, and the config refers to them. A value of --set is visible to other programs, so write ${secret:NAME} there.',
    'It is installed as "agenthub add" does: in a sandbox, with an exact version, and tried once. A server of the catalog never runs without a container.',
    '--json prints the response of POST /catalog/install; with --dry-run that of GET /catalog/server.',
  ],
  examples: [
    ['install io.github.someone/postgres', 'The newest version'],
    ['install io.github.someone/postgres --dry-run', 'What it is, and what it asks for'],
    [
      "install com.example/tickets --set API_KEY='${secret:TICKETS_KEY}' --network bridge",
      'Without questions',
    ],
  ],
  async run(run) {
    const hub = await openHub(run);
    return await installOne(hub, wordOf(run.values, 'server'), run);
  },
};

async function installOne(hub: HubClient, server: string, run: Run): Promise<ExitCode> {
  const version = textOf(run.values, 'version');
  const query = new URLSearchParams({ name: server, ...(version !== undefined && { version }) });
  const path = `/catalog/server?${query.toString()}`;
  const found = fieldsOf(await hub.ask({ method: 'GET', path }));
  const isDry = run.values['dry-run'] === true;
  if (isDry && run.isJson) return run.json(found);
  if (!run.isJson) tellServer(found, run);
  if (isDry) return 0;
  const { number, option } = chosenOf(found, run);
  const values = await valuesFor(option, run);
  const name = textOf(run.values, 'name');
  const body: JsonObject = {
    server,
    version: String(found['version']),
    option: number,
    ...values,
    ...filled({ name, mounts: mountsOf(run.values), network: textOf(run.values, 'network') }),
  };
  const installed = await doConfirmed(run, confirm =>
    followWork(hub, {
      path: '/catalog/install',
      body: { ...body, confirm },
      progress: run.progress,
    }),
  ).catch(async (error: unknown) => {
    throw await inOptionsOf(error, name, hub, installOptions);
  });
  if (installed === undefined) {
    run.err('Nothing was installed.');
    return 1;
  }
  if (run.isJson) return run.json(installed);
  tellInstalled(fieldsOf(installed), run);
  return 0;
}

/** Options of this command by the keys of the entry that they set. */
const installOptions: typeof entryOptions = new Map([
  ['mounts', '--mount'],
  ['network', '--network'],
]);

const shown = (value: unknown) => (typeof value === 'string' ? visible(value) : '');

function tellServer(found: Described, { out, screen, remark, errorScreen }: Run): void {
  const title = shown(found['title']);
  out(
    `${screen.paint('bold', shown(found['name']))} ${shown(found['version'])}${title && `  ${title}`}`,
  );
  out(`  ${shown(found['description'])}`);
  out(`  publisher: ${shown(found['publisher'])} (verified only by the registry)`);
  for (const [at, option] of objectsIn(found['options']).entries()) {
    const { kind, what, refusal, wants, fields } = option;
    out(`  option ${at}: ${shown(kind)} ${shown(what)}`);
    if (typeof refusal === 'string')
      out(`    ${screen.paint('red', 'refused')}: ${visible(refusal)}`);
    for (const want of Array.isArray(wants) ? wants : []) out(`    asks for ${shown(want)}`);
    for (const field of objectsIn(fields)) out(`    ${fieldLine(field)}`);
  }
  if (found['status'] !== 'active')
    remark('warning', `it is ${shown(found['status'])}. ${shown(found['status_message'])}`.trim());
  remarkSource(fieldsOf(found['source']), { remark, errorScreen });
}

function fieldLine({ label, description, required, secret, default: preset, choices }: Described) {
  const marks = [
    ...(required === true ? ['required'] : []),
    ...(secret === true ? ['secret'] : []),
    ...(Array.isArray(choices) && choices.length > 0 ? [choices.map(shown).join('|')] : []),
    ...(typeof preset === 'string' && preset !== '' ? [`default ${visible(preset)}`] : []),
  ];
  const more = marks.length > 0 ? ` (${marks.join(', ')})` : '';
  const about = shown(description);
  return `${shown(label)}${more}${about && `: ${about}`}`;
}

/**
 * Returns the package or address that `--option` selects, or else the first that can be installed. Throws HUB_USAGE if
 * there is none, and HUB_REQUEST_INVALID if it cannot be installed.
 */
function chosenOf(found: Described, { values }: Run) {
  const options = objectsIn(found['options']);
  const most = Math.max(0, options.length - 1);
  const wanted = numberOf(values, 'option', { least: 0, most });
  const first = options.findIndex(({ refusal }) => refusal === null);
  const number = wanted ?? Math.max(0, first);
  const option = options[number];
  if (!option)
    throw usageError(`install: ${shown(found['name'])} names neither a package nor an address`);
  if (typeof option['refusal'] === 'string')
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${shown(option['what'])} cannot be installed: ${visible(option['refusal'])}`,
    );
  return { number, option };
}

/** Returns the values of the fields as members of a request, from `--set` and from questions to the user. */
async function valuesFor(option: Described, run: Run): Promise<JsonObject> {
  const fields = objectsIn(option['fields']);
  const given = new Map(textsOf(run.values, 'set').map(pairOf));
  const groups: Record<string, Record<string, string>> = {};
  for (const field of fields) {
    const [path, label] = [String(field['path']), String(field['label'])];
    const value = given.get(path) ?? given.get(label) ?? (await askFor(field, run));
    given.delete(path);
    given.delete(label);
    if (value === undefined || value === '') continue;
    const at = path.indexOf('.');
    (groups[path.slice(0, at)] ??= {})[path.slice(at + 1)] = value;
  }
  const [unknown] = given.keys();
  if (unknown !== undefined)
    throw usageError(
      `--set: ${JSON.stringify(unknown)} is not asked for. It asks for: ${fields.map(({ label }) => shown(label)).join(', ') || 'nothing'}`,
    );
  return groups;
}

function pairOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw usageError('--set: a name is missing: write --set NAME=value');
}

/** Asks for a required value on a terminal. Without a terminal, the hub reports missing values. */
async function askFor(field: Described, run: Run): Promise<string | undefined> {
  const { ask } = run.needs;
  if (field['required'] !== true || !ask || run.isJson) return undefined;
  const question = run.errorScreen.foreign(`${fieldLine(field)}\n> `);
  return await ask(
    question,
    run.signal,
    ...(field['secret'] === true ? (['hidden'] as const) : []),
  );
}

function tellInstalled(installed: Described, { out, remark, screen }: Run): void {
  const { name, tools, secrets, warnings } = installed;
  const offered = isObject(tools) ? `: ${count(Number(tools['count']), 'tool')}` : '';
  out(`${screen.paint('green', 'installed')} ${shown(name)}${offered}`);
  const names = Array.isArray(secrets) ? secrets.map(shown) : [];
  if (names.length > 0) out(`  stored as secrets: ${names.join(', ')}`);
  for (const warning of Array.isArray(warnings) ? warnings : []) remark('warning', shown(warning));
}
