import {
  type FoundServers,
  type HubFiles,
  type ImportItem,
  type ImportPlan,
  clients,
} from '#clients';
import type { ServerConfig } from '#config';
import { columns } from '../table.ts';
import type { Io } from '../terminal.ts';
import { count } from '../values.ts';
import type { NotRunning } from './running.ts';
import type { TriedServer } from './trials.ts';

export type ImportOutcome = {
  readonly isWritten: boolean;
  readonly added: readonly string[];
  readonly backups: readonly string[];
  readonly tried: ReadonlyMap<string, TriedServer>;
  /** Servers that did not start and were not added. */
  readonly failed: readonly NotRunning[];
  /** Servers that stay in the clients' files. */
  readonly kept: readonly NotRunning[];
  /** Clients whose files now have the hub instead of their servers. */
  readonly connected: readonly string[];
};

/** Name of the file with the hub's variables, as the help shows it. */
export const dotenv = '.env';

/** Prints the servers that were found, and what the import would do with them. */
export function showPlan(
  { files, unread, problems }: FoundServers,
  { items, variables }: ImportPlan,
  { out, screen }: Io,
): void {
  if (files.length === 0 && problems.length === 0)
    out('None of the clients that were read has a file with servers.');
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
export function showDropped(whole: ImportPlan, plan: ImportPlan, { out, screen }: Io): void {
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
  const { found } = item;
  const project = found.scope === 'user' && found.folder !== undefined ? ` in ${found.folder}` : '';
  const name = screen.foreign(`${found.name}${project}`);
  if (item.action === 'skip') return [`  - ${name}: ${screen.foreign(item.why)}`];
  if (item.action === 'present') {
    const why = item.twin
      ? `the same server as "${item.twin.name}" of ${clients[item.twin.client].title}, so one entry, "${item.name}"`
      : `the hub has it already, as "${item.name}"`;
    return [screen.paint('dim', `  = ${name}: ${screen.foreign(why)}`)];
  }
  const renamed = item.name === found.name ? '' : ` as "${item.name}"`;
  const { conflict } = item;
  return [
    screen.paint('green', `  + ${name}${renamed}: ${screen.foreign(describeLaunch(item.server))}`),
    ...(conflict
      ? [
          screen.paint(
            'yellow',
            `      another server than "${conflict.name}": they differ in ${conflict.differs.join(', ')}`,
          ),
        ]
      : []),
    ...item.loosenings.map(({ name: what, message }) =>
      screen.paint('yellow', `      ${screen.foreign(`${what}: ${message}`)}`),
    ),
    ...item.hints.map(hint => screen.foreign(`      ${hint}`)),
  ];
}

/** Describes what a server runs, without values that may be secret. */
function describeLaunch({ launch }: ServerConfig): string {
  if (launch.kind === 'remote') return `at ${URL.parse(launch.url)?.origin ?? 'an address'}`;
  if (launch.package) return `${launch.package.ecosystem} package ${launch.package.spec}`;
  if (launch.build) return `build of ${launch.build.folder}`;
  return `image ${launch.image ?? ''}`;
}

/** Prints the files that were written, what each server was granted, and the next steps. */
export function showOutcome(
  { items, variables, secrets = [] }: ImportPlan,
  { config, dotenv: variablesFile }: HubFiles,
  { added, backups, tried, failed, kept, connected }: ImportOutcome,
  { out, err, screen, errorScreen }: Io,
): void {
  const done = screen.paint('green', 'wrote');
  if (added.length > 0) out(`${done} ${config}: ${added.join(', ')}`);
  if (variables.length > 0)
    out(`${done} ${variablesFile}: keep it out of version control, because it contains keys`);
  if (secrets.length > 0)
    out(`${screen.paint('green', 'stored')} as secrets: ${namesOf(secrets).join(', ')}`);
  const rows = items.flatMap(item =>
    item.action === 'add'
      ? [['', item.name, offerOf(tried.get(item.name)), givenTo(item.server)]]
      : [],
  );
  for (const line of columns(rows)) out(screen.foreign(line));
  if (failed.length > 0)
    err(errorScreen.foreign(`Not added: ${failed.map(({ item }) => item.found.name).join(', ')}`));
  for (const backup of backups) out(`Backup of the client's file: ${backup}`);
  for (const { item, why } of kept)
    err(errorScreen.foreign(`${item.found.name} stays in ${item.found.source.file}: ${why}`));
  if (added.length > 0)
    out(
      'They have only these permissions. A running hub starts them now ("agenthub serve" starts one), and pins what they offer: "agenthub pins" shows what looks suspicious.',
    );
  if (connected.length > 0) out(`Connected to the hub: ${connected.join(', ')}`);
  else if (backups.length > 0)
    out('To add the hub to the client instead: agenthub connect <client>');
  // Without a change there is no record of this import, and an undo would revert the previous one.
  if (added.length + backups.length > 0)
    out('To restore all of these files: agenthub import --undo');
  else out('Nothing was written.');
}

const offerOf = (tried: TriedServer | undefined) => {
  if (!tried) return 'not tried';
  return tried.needsLogin ? 'wants a login' : count(tried.tools, 'tool');
};

/** Describes in a few words what a server may use beyond the default sandbox. */
function givenTo({ launch }: ServerConfig): string {
  if (launch.kind === 'remote') return 'runs elsewhere';
  const { mounts, network, user } = launch.sandbox;
  const of = (readOnly: boolean) =>
    mounts.filter(mount => mount.readOnly === readOnly).map(({ source }) => source);
  const given = {
    reads: of(true),
    writes: of(false),
    network: typeof network === 'object' ? network.allow : network === 'none' ? [] : ['any'],
    user: user === undefined ? [] : [user],
  };
  return (
    Object.entries(given)
      .flatMap(([word, values]) => (values.length > 0 ? [`${word} ${values.join(', ')}`] : []))
      .join('; ') || 'default sandbox'
  );
}

const namesOf = (those: readonly { readonly name: string }[]) => those.map(({ name }) => name);

/** Returns the document that `--json` prints. */
export const importDocument = (
  { items, variables, secrets = [] }: ImportPlan,
  { config }: HubFiles,
  { added, backups, kept, tried, failed, connected }: ImportOutcome,
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
      ...(tried.has(item.name) && { tools: tried.get(item.name)?.tools }),
    }),
  })),
  variables: namesOf(variables),
  secrets: namesOf(secrets),
  written: added.length + backups.length > 0,
  backups,
  failed: failed.map(({ item, why }) => ({ name: item.found.name, why })),
  kept: kept.map(({ item, why }) => ({ name: item.found.name, why })),
  connected,
});
