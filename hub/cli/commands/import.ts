import {
  type FoundServers,
  type HubFiles,
  type ImportItem,
  type ImportPlan,
  type ImportSelection,
  clientNames,
  clients,
} from '#clients';
import type { ServerConfig } from '#config';
import { clientOf, clientPositional } from '../client-change.ts';
import type { Command, Run } from '../command.ts';
import { allowOption, changeOptions, confirmImport, isAgreed, loadForEdit } from '../confirm.ts';
import { createHubClient } from '../hub-client.ts';
import { type NotRunning, startImported } from '../import-running.ts';
import type { Io } from '../terminal.ts';
import { type Values, count, textOf, textsOf, usageError } from '../values.ts';

/** What the help calls the file from which the hub reads variables. */
const dotenv = '.env';

/** `agenthub import`: moves servers from clients' config files to the hub's config. */
export const importServers: Command = {
  name: 'import',
  summary: 'Import the servers of clients into the hub, to run them in containers.',
  positionals: [
    {
      ...clientPositional,
      help: `${clientPositional.help}, or the file of a project, such as ./.mcp.json.`,
      count: 'any',
    },
  ],
  options: {
    all: { help: 'Import the servers of all clients.' },
    workspace: {
      help: 'Read the files of this folder instead of your own. The author of the project controls them.',
    },
    remove: {
      help: "Remove the servers that then run in the hub from the clients' files. Backups are kept.",
    },
    undo: { help: 'Restore all files that the latest import changed.' },
    allow: {
      ...allowOption,
      help: 'Allow a setting beyond the default sandbox: NAME, or SERVER/NAME for one server. Repeatable.',
    },
    keys: {
      value: 'place',
      completion: ['env', 'secrets'],
      help: `Where the keys in those files go: "secrets" (the keychain or an encrypted file) or "env" (${dotenv}). Default: asks, and ${dotenv} without a terminal.`,
    },
    ...changeOptions,
  },
  details: [
    'Without clients and --all: only lists the servers. Project files are read only if they are named, or with --workspace.',
    `Keys in those files are moved to ${dotenv} or the secrets of the hub, and the config contains only their names. Each setting beyond the default sandbox (mounts, the network, a user, variables, headers) needs your confirmation. With --yes it is left out, unless --allow names it.`,
    '--json prints {"config", "servers": [{"client", "file", "name", "action": "add" | "present" | "skip", "as", "why", "asks", "dropped", "hints"}], "variables", "secrets", "written", "backups", "kept": [{"name", "why"}]}.',
  ],
  examples: [
    ['import', 'List the servers of the clients on this machine'],
    ['import claude-desktop cursor', 'Show what would be added, ask, and write it'],
    ['import ./.mcp.json', 'Import the servers of a project'],
    ['import --all --remove --yes', 'Move all of them'],
    ['import --undo', 'Restore the files'],
  ],
  async run(run) {
    const { values, isJson, needs } = run;
    if (values['undo'] === true) return await undoImport(run);
    const all = await needs.openClients();
    const { selection, isRequested } = selectionOf(values);
    const found = await all.find(selection);
    const place = await needs.findHub(undefined);
    const files: HubFiles = {
      config: (await loadForEdit(needs.files)).file,
      dotenv: await needs.files.findDotenv(),
    };
    const whole = await all.planImport(found, files, place);
    if (!isJson) show(found, whole, run);
    const isRemoving = values['remove'] === true;
    const hasChange = isRequested && hasChanges(whole, isRemoving);
    const keys = keysOf(values);
    const tightened = hasChange
      ? await all.tighten(whole, files, await confirmImport(whole, run))
      : whole;
    const plan = (await isForSecrets(tightened, keys, run))
      ? await all.toSecrets(tightened)
      : tightened;
    if (!isJson) showDropped(whole, plan, run);
    const isWritten =
      hasChange &&
      hasChanges(plan, isRemoving) &&
      (await isAgreed(questionOf(plan, files, values), run));
    let outcome: Outcome = { isWritten, added: [], backups: [], kept: [] };
    if (isWritten) {
      const { added, removeFromClients } = await all.carryOutImport(plan, files);
      const moved = isRemoving ? itemsToMove(plan) : [];
      const { running, others } = await startImported(moved, createHubClient(place, run), run);
      outcome = { isWritten, added, backups: await removeFromClients(running), kept: others };
    }
    if (isJson) run.json(documentOf(plan, files, outcome));
    else if (isWritten) reportWritten(plan, files, outcome, run);
    else if (!isRequested) run.out('To add these to the hub, name clients or use --all.');
    else run.out(hasChange ? 'Nothing was written.' : 'There is nothing to add.');
    // Problems of single files: the other files are imported anyway.
    for (const { message } of found.problems) run.err(run.errorScreen.foreign(message));
    return outcome.kept.length > 0 || found.problems.length > 0 ? 1 : 0;
  },
};

/** Where keys go; undefined if the command line does not say it. Throws HUB_USAGE. */
function keysOf(values: Values): 'env' | 'secrets' | undefined {
  const keys = textOf(values, 'keys');
  if (keys === undefined || keys === 'env' || keys === 'secrets') return keys;
  throw usageError(`--keys: ${JSON.stringify(keys)} is not allowed: write "secrets" or "env"`);
}

/** Whether the keys of a plan become secrets. Asks on a terminal if the command line does not say it. */
async function isForSecrets(
  { variables }: ImportPlan,
  keys: 'env' | 'secrets' | undefined,
  { needs, values, signal }: Run,
): Promise<boolean> {
  if (variables.length === 0) return false;
  const mayAsk = ['yes', 'dry-run', 'json'].every(option => values[option] !== true);
  if (keys !== undefined || !needs.ask || !mayAsk) return keys === 'secrets';
  const question = `Store ${count(variables.length, 'key')} as secrets of the hub, in the keychain or an encrypted file, instead of ${dotenv}? [y/N] `;
  return /^y(?:es)?$/i.test((await needs.ask(question, signal)).trim());
}

/** `agenthub import --undo`: restores all files that the latest import changed. */
async function undoImport(run: Run): Promise<0> {
  const { needs, isJson, json, out, screen } = run;
  const all = await needs.openClients();
  const found = await all.newestImport();
  if (!found) throw usageError('--undo: there is no import that can be undone');
  if (!isJson) {
    const added = screen.foreign(found.added.join(', ')) || 'no server';
    out(`The import of ${found.at} added ${added} and changed:`);
    for (const file of found.files) out(`  ${screen.foreign(file)}`);
  }
  const isWritten = await isAgreed(`Restore ${found.files.join(', ')}?`, run);
  if (isWritten) await all.undoImport();
  if (isJson) return json({ ...found, undone: isWritten });
  out(isWritten ? `${screen.paint('green', 'restored')} all of them` : 'Nothing was written.');
  return 0;
}

/** The files that the command line selects. Throws HUB_USAGE for options that exclude each other. */
function selectionOf(values: Values) {
  const words = textsOf(values, 'client');
  const isAll = values['all'] === true;
  if (isAll && words.length > 0)
    throw usageError('--all: cannot be combined with client names. Remove one of them');
  const { paths = [], names = [] } = Object.groupBy(words, word =>
    /[./\\]/.test(word) ? 'paths' : 'names',
  );
  const selection: ImportSelection = {
    names: words.length > 0 ? names.map(clientOf) : clientNames,
    scopes: [values['workspace'] === true ? 'workspace' : 'user'],
    paths,
  };
  return { selection, isRequested: isAll || words.length > 0 };
}

const itemsToMove = ({ items }: Pick<ImportPlan, 'items'>) =>
  items.filter(({ action }) => action !== 'skip');

const hasChanges = (plan: ImportPlan, isRemoving: boolean) =>
  plan.items.some(({ action }) => action === 'add') || (isRemoving && itemsToMove(plan).length > 0);

function show(
  { files, unread, problems }: FoundServers,
  { items, variables }: ImportPlan,
  { out, screen }: Io,
): void {
  if (files.length === 0 && problems.length === 0)
    out('None of these clients has a file with servers.');
  for (const file of files) {
    const own = items.filter(({ found }) => found.source.file === file);
    const [first] = own;
    const title = first ? ` (${clients[first.found.client].title})` : '';
    out(screen.paint('bold', `${file}${title}${first ? '' : ': no servers'}`));
    for (const item of own) for (const line of linesOf(item, { screen })) out(line);
  }
  if (variables.length > 0) out(`Keys that are moved: ${namesOf(variables).join(', ')}`);
  if (unread.length > 0)
    out(
      `Not read, because they belong to the project: ${unread.join(', ')}. Name a file to import it`,
    );
}

/** Prints the settings that were declined, and the servers that cannot run without them. */
function showDropped(whole: ImportPlan, plan: ImportPlan, { out, screen }: Io): void {
  for (const item of plan.items) {
    const isSkippedNow =
      item.action === 'skip' &&
      whole.items.some(({ action, found }) => action === 'add' && found === item.found);
    if (isSkippedNow) out(screen.foreign(`Not added: ${item.found.name}: ${item.why}`));
    if (item.action === 'add' && item.dropped.length > 0)
      out(screen.foreign(`${item.name} is added without ${namesOf(item.dropped).join(', ')}`));
  }
}

function linesOf(item: ImportItem, { screen }: Pick<Io, 'screen'>): readonly string[] {
  const name = screen.foreign(item.found.name);
  if (item.action === 'skip') return [`  - ${name}: ${screen.foreign(item.why)}`];
  if (item.action === 'present')
    return [screen.paint('dim', `  = ${name}: the hub has it already, as "${item.name}"`)];
  const renamed = item.name === item.found.name ? '' : ` as "${item.name}"`;
  return [
    screen.paint('green', `  + ${name}${renamed}: ${screen.foreign(describeLaunch(item.server))}`),
    ...item.loosenings.map(({ name: what, message }) =>
      screen.paint('yellow', `      ${screen.foreign(`${what}: ${message}`)}`),
    ),
    ...item.hints.map(hint => screen.foreign(`      ${hint}`)),
  ];
}

/** What a server runs, without values that may be secret. */
function describeLaunch({ launch }: ServerConfig): string {
  if (launch.kind === 'remote') return `at ${URL.parse(launch.url)?.origin ?? 'an address'}`;
  if (launch.package) return `${launch.package.ecosystem} package ${launch.package.spec}`;
  return `image ${launch.image ?? ''}`;
}

function questionOf({ items }: ImportPlan, { config }: HubFiles, values: Values): string {
  const adds = items.filter(({ action }) => action === 'add').length;
  const gone = itemsToMove({ items }).map(({ found }) => found.source.file);
  const parts = [
    ...(adds > 0 ? [`add ${count(adds, 'server')} to ${config}`] : []),
    ...(values['remove'] === true
      ? [`remove ${count(gone.length, 'server')} from ${[...new Set(gone)].join(', ')}`]
      : []),
  ];
  const question = `${parts.join(' and ')}?`;
  return question.charAt(0).toUpperCase() + question.slice(1);
}

type Outcome = {
  readonly isWritten: boolean;
  readonly added: readonly string[];
  readonly backups: readonly string[];
  /** Servers that stay in their clients' files. */
  readonly kept: readonly NotRunning[];
};

function reportWritten(
  { variables, secrets = [] }: ImportPlan,
  { config, dotenv: variablesFile }: HubFiles,
  { added, backups, kept }: Outcome,
  { out, err, screen, errorScreen }: Io,
): void {
  const done = screen.paint('green', 'wrote');
  if (added.length > 0) out(`${done} ${config}: ${added.join(', ')}`);
  if (variables.length > 0)
    out(`${done} ${variablesFile}: keep it out of version control, because it contains keys`);
  if (secrets.length > 0)
    out(`${screen.paint('green', 'stored')} as secrets: ${namesOf(secrets).join(', ')}`);
  for (const backup of backups) out(`Backup of the client's file: ${backup}`);
  for (const { item, why } of kept)
    err(errorScreen.foreign(`${item.found.name} stays in ${item.found.source.file}: ${why}`));
  if (added.length > 0)
    out(
      'They have only the permissions that were allowed. A running hub starts them now, and pins what they offer: "agenthub pins" shows what looks suspicious.',
    );
  if (backups.length > 0) out('To add the hub to the client instead: agenthub connect <client>');
  out('To restore all of these files: agenthub import --undo');
}

const namesOf = (those: readonly { readonly name: string }[]) => those.map(({ name }) => name);

const documentOf = (
  { items, variables, secrets = [] }: ImportPlan,
  { config }: HubFiles,
  { isWritten, backups, kept }: Outcome,
) => ({
  config,
  servers: items.map(item => ({
    client: item.found.client,
    file: item.found.source.file,
    name: item.found.name,
    action: item.action,
    ...(item.action !== 'skip' && { as: item.name }),
    ...(item.action === 'skip' && { why: item.why }),
    ...(item.action === 'add' && {
      asks: namesOf([...item.loosenings, ...item.dropped]),
      dropped: namesOf(item.dropped),
      hints: item.hints,
    }),
  })),
  variables: namesOf(variables),
  secrets: namesOf(secrets),
  written: isWritten,
  backups,
  kept: kept.map(({ item, why }) => ({ name: item.found.name, why })),
});
