import {
  type Found,
  type HubFiles,
  type ImportItem,
  type ImportPlan,
  clientNames,
  clients,
} from '#clients';
import type { ServerConfig } from '#config';
import { HubError } from '#core';
import {
  type ClientsNeeds,
  changeOptions,
  clientOf,
  clientPositional,
  isAgreed,
} from '../client-change.ts';
import type { Command, ExitCode, Io, Values } from '../command.ts';
import { type FileNeeds, loadForEdit } from '../config-file.ts';
import type { HubNeeds } from '../hub-client.ts';
import { asJson, textsOf } from '../values.ts';

/** Where the hub looks up variables, in its working folder. */
const dotenv = '.env';

/** `agenthub import`: takes the servers of clients into the hub's config. */
export function createImport(needs: HubNeeds & FileNeeds & ClientsNeeds): Command {
  return {
    name: 'import',
    summary: 'Take the servers in the configs of clients into the hub, to run in containers.',
    positionals: [{ ...clientPositional, count: 'any' }],
    options: {
      all: { type: 'boolean', help: 'Those of all clients.' },
      remove: {
        type: 'boolean',
        help: 'Take them out of the files of the clients, of which copies are kept.',
      },
      ...changeOptions,
    },
    details: [
      'Without clients and --all: shows what there is. Of each client the file of the user is read, and that of this folder.',
      `Keys that stand in those files go to ${dotenv}, and the config names their variables only. Servers get neither the network nor folders of this machine: what one probably needs is said beside it.`,
      '--json prints {"config", "servers": [{"client", "file", "name", "action": "add" | "present" | "skip", "as", "why", "hints"}], "variables", "written", "backups"}.',
    ],
    examples: [
      ['import', 'See what the clients of this machine have'],
      ['import claude-desktop cursor', 'Show what would be added, ask, and write it'],
      ['import --all --remove --yes', 'Move all of them'],
    ],
    async run(values, io) {
      const words = textsOf(values, 'client');
      const isAll = values['all'] === true;
      if (isAll && words.length > 0)
        throw new HubError('HUB_USAGE', '--all: leave it out, or the names of clients');
      const isAsking = isAll || words.length > 0;
      const all = await needs.openClients();
      const found = await all.find(isAsking && !isAll ? words.map(clientOf) : clientNames);
      const hub = await needs.findHub(undefined);
      const files: HubFiles = { config: (await loadForEdit(needs)).file, dotenv };
      const plan = await all.planImport(found, files, hub);
      const isJson = values['json'] === true;
      if (!isJson) show(found, plan, io);
      const adds = plan.items.filter(({ action }) => action === 'add');
      const removes =
        values['remove'] === true && plan.items.some(({ action }) => action !== 'skip');
      const isWorth = isAsking && (adds.length > 0 || removes);
      const isWritten =
        isWorth && (await isAgreed(questionOf(plan, files, values), values, needs, io));
      const done = isWritten
        ? await all.carryOutImport(plan, files, removes)
        : { added: [], backups: [] };
      if (isJson) io.out(asJson(documentOf(plan, files, isWritten, done.backups)));
      else conclude({ plan, files, isAsking, isWorth, isWritten, ...done }, io);
      return tellProblems(found, io);
    },
  };
}

function show(
  { files, problems }: Found,
  { items, variables }: ImportPlan,
  { out, screen }: Io,
): void {
  if (files.length === 0 && problems.length === 0)
    out('None of these clients has a file with servers here.');
  for (const file of files) {
    const own = items.filter(({ found }) => found.source.file === file);
    const [first] = own;
    const title = first ? ` (${clients[first.found.client].title})` : '';
    out(screen.paint('bold', `${file}${title}${first ? '' : ': no servers'}`));
    for (const item of own) for (const line of linesOf(item, { screen })) out(line);
  }
  if (variables.length > 0)
    out(`Keys that go to ${dotenv}: ${variables.map(({ name }) => name).join(', ')}`);
}

function linesOf(item: ImportItem, { screen }: Pick<Io, 'screen'>): readonly string[] {
  const name = screen.foreign(item.found.name);
  if (item.action === 'skip') return [`  - ${name}: ${screen.foreign(item.why)}`];
  if (item.action === 'present')
    return [screen.paint('dim', `  = ${name}: the hub has it already, as "${item.name}"`)];
  const renamed = item.name === item.found.name ? '' : ` as "${item.name}"`;
  return [
    screen.paint('green', `  + ${name}${renamed}: ${screen.foreign(whatOf(item.server))}`),
    ...item.hints.map(hint => screen.foreign(`      ${hint}`)),
  ];
}

/** What runs, without what may be secret. */
function whatOf({ launch }: ServerConfig): string {
  if (launch.kind === 'remote') return `at ${URL.parse(launch.url)?.origin ?? 'an address'}`;
  if (launch.package) return `${launch.package.ecosystem} package ${launch.package.spec}`;
  return `image ${launch.image ?? ''}`;
}

function questionOf({ items }: ImportPlan, { config }: HubFiles, values: Values): string {
  const adds = items.filter(({ action }) => action === 'add').length;
  const gone = items
    .filter(({ action }) => action !== 'skip')
    .map(({ found }) => found.source.file);
  const parts = [
    ...(adds > 0 ? [`add ${servers(adds)} to ${config}`] : []),
    ...(values['remove'] === true
      ? [`take ${servers(gone.length)} out of ${[...new Set(gone)].join(', ')}`]
      : []),
  ];
  const question = `${parts.join(' and ')}?`;
  return question.charAt(0).toUpperCase() + question.slice(1);
}

const servers = (count: number) => `${count} ${count === 1 ? 'server' : 'servers'}`;

type Outcome = {
  readonly plan: ImportPlan;
  readonly files: HubFiles;
  readonly isAsking: boolean;
  readonly isWorth: boolean;
  readonly isWritten: boolean;
  readonly added: readonly string[];
  readonly backups: readonly string[];
};

function conclude(
  { plan, files, isAsking, isWorth, isWritten, added, backups }: Outcome,
  { out, screen }: Io,
): void {
  if (!isAsking) return out('Name clients, or --all, to add these to the hub.');
  if (!isWorth) return out('There is nothing to add.');
  if (!isWritten) return out('Nothing was written.');
  const done = screen.paint('green', 'wrote');
  if (added.length > 0) out(`${done} ${files.config}: ${added.join(', ')}`);
  if (plan.variables.length > 0)
    out(`${done} ${files.dotenv}: keep it out of version control, as it holds keys`);
  for (const backup of backups) out(`As the client had it: ${backup}`);
  if (added.length > 0)
    out(
      'They have no network, unless their entries say "network": "bridge". A hub that runs starts them now.',
    );
  if (backups.length > 0) out('Put the hub in their place with: agenthub connect <client>');
}

const documentOf = (
  { items, variables }: ImportPlan,
  { config }: HubFiles,
  written: boolean,
  backups: readonly string[],
) => ({
  config,
  servers: items.map(item => ({
    client: item.found.client,
    file: item.found.source.file,
    name: item.found.name,
    action: item.action,
    ...(item.action !== 'skip' && { as: item.name }),
    ...(item.action === 'skip' && { why: item.why }),
    ...(item.action === 'add' && { hints: item.hints }),
  })),
  variables: variables.map(({ name }) => name),
  written,
  backups,
});

/** What the files of the others say counts all the same. */
function tellProblems({ problems }: Found, { err, errorScreen }: Io): ExitCode {
  for (const { message } of problems) err(errorScreen.foreign(message));
  return problems.length > 0 ? 1 : 0;
}
