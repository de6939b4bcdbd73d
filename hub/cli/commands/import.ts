import {
  type ClientName,
  type Clients,
  type HubAddress,
  type HubFiles,
  type ImportItem,
  type ImportPlan,
  type ImportSelection,
  clientNames,
  defaultEntryName,
} from '#clients';
import { HubError } from '#core';
import { clientOf, clientPositional } from '../client-change.ts';
import type { Command, Run } from '../command.ts';
import { allowOption, changeOptions, firstConfigNote, isAgreed } from '../confirm.ts';
import { createHubClient } from '../hub-client.ts';
import { collectGrants, mountGrants } from '../import/grants.ts';
import {
  type ImportOutcome,
  dotenv,
  importDocument,
  showDropped,
  showOutcome,
  showPlan,
} from '../import/report.ts';
import { startImported } from '../import/running.ts';
import { tryServers } from '../import/trials.ts';
import type { HubPlace } from '../needs.ts';
import { type OwnToken, findOwnToken, warnOfReplaced } from '../own-token.ts';
import { type Values, choiceOf, count, textsOf, usageError } from '../values.ts';

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
    connect: { help: '--remove, and add the hub to these files instead.' },
    undo: { help: 'Restore all files that the latest import changed.' },
    allow: {
      ...allowOption,
      help: 'Allow a setting beyond the default sandbox: NAME, SERVER/NAME for one server, or "needed": what servers of your own files need to work (network, folders to read). Repeatable.',
    },
    write: {
      value: 'server',
      multiple: true,
      help: 'Let this server also write to the folders that it names, or "all". Repeatable.',
    },
    mount: {
      value: 'server=folder[:rw]',
      multiple: true,
      help: 'Mount a folder that the arguments of the server do not name. Repeatable.',
    },
    keys: {
      value: 'place',
      completion: ['env', 'secrets'],
      help: `Where the keys in those files go: "secrets" (the keychain or an encrypted file) or "env" (${dotenv}). Default: secrets.`,
    },
    'no-trial': { help: 'Add servers without starting each once, and without a pinned version.' },
    ...changeOptions,
  },
  details: [
    'Without clients and --all: only lists the servers. Project files are read only if they are named, or with --workspace.',
    'Folders among the arguments become mounts, read-only unless --write says otherwise; hosts and keys suggest the network; mcp-remote becomes a remote server. Each server is then started once in its sandbox, and those that work are added, with pinned versions.',
    `Keys in those files are moved to the secrets of the hub, and the config contains only their names. Each setting beyond the default sandbox (mounts, the network, a user, variables, headers) needs your confirmation. With --yes it is left out, unless --allow names it.`,
    '--json prints {"config", "servers": [{"client", "file", "name", "action": "add" | "present" | "skip", "as", "why", "asks", "dropped", "hints", "tools"}], "variables", "secrets", "written", "backups", "failed": [{"name", "why"}], "kept": [{"name", "why"}], "connected"}.',
  ],
  examples: [
    ['import', 'List the servers of the clients on this machine'],
    ['import claude-desktop cursor', 'Show what would be added, ask, and write it'],
    ['import ./.mcp.json', 'Import the servers of a project'],
    ['import --all --connect', 'Move all of them, and connect the clients to the hub'],
    ['import --all --yes --allow needed --write filesystem', 'Without questions'],
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
      config: await needs.files.findConfigFile(),
      dotenv: await needs.files.findDotenv(),
    };
    const grants = mountGrants(values);
    const keys = choiceOf(values, 'keys', ['secrets', 'env']) ?? 'secrets';
    const first = await all.planImport(found, files, place, grants);
    if (!isJson) showPlan(found, first, run);
    const isRemoving = values['remove'] === true || values['connect'] === true;
    const hasChange = isRequested && hasChanges(first, isRemoving);
    let plan = first;
    if (hasChange) {
      const given = await collectGrants(first, run);
      const mayWrite = (server: string) => grants.mayWrite(server) || given.writing.has(server);
      const whole =
        given.writing.size > 0
          ? await all.planImport(found, files, place, { ...grants, mayWrite })
          : first;
      plan = await all.tighten(whole, files, given.isAllowed);
      if (!isJson) showDropped(whole, plan, run);
    }
    if (keys === 'secrets' && plan.variables.length > 0) plan = await all.toSecrets(plan);
    if (hasChange && values['connect'] === true) await warnOfTokens(plan, place, all, run);
    const isAgreedTo =
      hasChange &&
      hasChanges(plan, isRemoving) &&
      (await isAgreed(questionOf(plan, files, isRemoving), run));
    const { plan: last, ...outcome } = isAgreedTo
      ? await carryOut(plan, { all, files, place, isRemoving }, run)
      : { plan, ...nothing };
    if (isJson) run.json(importDocument(last, files, outcome));
    else if (outcome.isWritten) showOutcome(last, files, outcome, run);
    else if (!isRequested && hasChanges(first, false))
      run.out('To add these to the hub, name clients or use --all.');
    else run.out(hasChange ? 'Nothing was written.' : nothingToAdd(values));
    // Continue after problems of single files: the servers of all others are imported anyway.
    for (const { message } of found.problems) run.err(run.errorScreen.foreign(message));
    const { kept, failed } = outcome;
    return kept.length + failed.length + found.problems.length > 0 ? 1 : 0;
  },
};

const nothing: ImportOutcome = {
  isWritten: false,
  added: [],
  backups: [],
  tried: new Map(),
  failed: [],
  kept: [],
  connected: [],
};

type Import = {
  readonly all: Clients;
  readonly files: HubFiles;
  readonly place: HubPlace;
  readonly isRemoving: boolean;
};

/**
 * Starts the servers once as a test, writes those that work to the hub's config, and removes them from the clients'
 * files if requested.
 */
async function carryOut(
  wanted: ImportPlan,
  { all, files, place, isRemoving }: Import,
  run: Run,
): Promise<ImportOutcome & { readonly plan: ImportPlan }> {
  const written = await run.needs.files.createConfig();
  if (written !== undefined) run.remark('note', firstConfigNote(written));
  const untried = { plan: wanted, tried: new Map(), failed: [] };
  const trials = run.values['no-trial'] === true ? untried : await tryServers(wanted, place, run);
  const { tried, failed } = trials;
  const plan = all.withoutUnusedKeys(trials.plan);
  if (!hasChanges(plan, isRemoving)) return { ...nothing, plan, failed };
  const { added, removeFromClients } = await all.carryOutImport(plan, files);
  const moved = isRemoving ? itemsToMove(plan) : [];
  const { running, others } = await startImported(moved, createHubClient(place, run), run);
  const tokens: OwnToken[] = [];
  const connected = new Set<ClientName>();
  const hubOf = async (client: ClientName): Promise<HubAddress | undefined> => {
    if (run.values['connect'] !== true) return undefined;
    const own = await tokenFor(client, place, all, run);
    if (own) tokens.push(own);
    connected.add(client);
    const bridge = await run.needs.findBridge();
    return { ...place, bridge, ...(own && { token: own.token, isTokenMade: true }) };
  };
  const backups = await removeFromClients(running, {
    hubOf,
    ready: async () => {
      for (const own of tokens.splice(0)) await own.register();
    },
  });
  return {
    isWritten: true,
    added,
    backups,
    tried,
    failed,
    kept: others,
    connected: [...connected],
    plan,
  };
}

/** Warns of tokens that `--connect` replaces. Rejects with HubError if a token for a client cannot be created. */
async function warnOfTokens(plan: ImportPlan, place: HubPlace, all: Clients, run: Run) {
  const users = itemsToMove(plan).filter(({ found }) => found.scope === 'user');
  for (const client of new Set(users.map(({ found }) => found.client)))
    warnOfReplaced(await tokenFor(client, place, all, run), run);
}

/**
 * Returns the token for a client's new entry; undefined if the hub needs none, or if the client's file already has the
 * hub.
 */
async function tokenFor(
  client: ClientName,
  place: HubPlace,
  all: Clients,
  run: Run,
): Promise<OwnToken | undefined> {
  const target = { client, scope: 'user', name: defaultEntryName } as const;
  if (await all.hasHub(target, place)) return undefined;
  return await findOwnToken(target, place, all, run);
}

/** Options, and the argument `client`, that cannot be combined with `--undo`. */
const importOnly = 'client all workspace remove connect allow write mount keys no-trial'.split(' ');

/** `agenthub import --undo`: restores all files that the latest import changed. */
async function undoImport(run: Run): Promise<0> {
  const { values, needs, isJson, json, out, screen } = run;
  const other = importOnly.find(
    name => values[name] !== undefined && (name !== 'client' || textsOf(values, name).length > 0),
  );
  if (other !== undefined)
    throw usageError(
      `--undo: restores all files of the latest import. Leave out ${other === 'client' ? 'the clients' : `--${other}`}`,
    );
  const all = await needs.openClients();
  const found = await all.newestImport();
  if (!found)
    throw new HubError('HUB_CONFIG_CONFLICT', '--undo: there is no import that can be undone');
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

/**
 * Returns the files and clients that the command line selects. Throws HUB_USAGE for options that exclude each other.
 */
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

/** A client that has no servers to import is not connected, so names the command that connects it. */
const nothingToAdd = ({ connect }: Values) =>
  `There is nothing to add.${connect === true ? ' To add the hub to a client without servers: agenthub connect <client>' : ''}`;

const itemsToMove = ({ items }: Pick<ImportPlan, 'items'>): readonly ImportItem[] =>
  items.filter(({ action }) => action !== 'skip');

const hasChanges = (plan: ImportPlan, isRemoving: boolean) =>
  plan.items.some(({ action }) => action === 'add') || (isRemoving && itemsToMove(plan).length > 0);

function questionOf({ items }: ImportPlan, { config }: HubFiles, isRemoving: boolean): string {
  const adds = items.filter(({ action }) => action === 'add').length;
  const gone = itemsToMove({ items }).map(({ found }) => found.source.file);
  const parts = [
    ...(adds > 0 ? [`add ${count(adds, 'server')} to ${config}`] : []),
    ...(isRemoving
      ? [`remove ${count(gone.length, 'server')} from ${[...new Set(gone)].join(', ')}`]
      : []),
  ];
  const question = `${parts.join(' and ')}?`;
  return question.charAt(0).toUpperCase() + question.slice(1);
}
