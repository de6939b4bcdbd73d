import {
  type ClientName,
  type DiffLine,
  type HubAddress,
  type ConnectPlan,
  clients,
  diffTexts,
  endpointOf,
  hubEntry,
  tokenIn,
  tokenVariable,
  defaultEntryName,
} from '#clients';
import { HubError, isObject } from '#core';
import {
  type ClientCommandNeeds,
  changeOptions,
  clientOf,
  clientPositional,
  isAgreed,
  showDifference,
  targetOf,
  targetOptions,
} from '../client-change.ts';
import type { Command, ExitCode, Io, Values } from '../command.ts';
import { columns } from '../help.ts';
import { type HubNeeds, type HubPlace, createHubClient, hubOptions } from '../hub-client.ts';
import { asJson, textOf } from '../values.ts';

type Needs = HubNeeds & ClientCommandNeeds;

/** `agenthub connect`: adds the hub to a client's config file. */
export function createConnect(needs: Needs): Command {
  return {
    name: 'connect',
    summary: 'Add the hub to the config of a client, and keep a backup of it.',
    positionals: [{ ...clientPositional, count: 'optional' }],
    options: {
      ...targetOptions,
      server: {
        type: 'string',
        placeholder: 'name',
        completion: 'server',
        help: 'Only this server of the hub, without name prefixes. Default: all servers.',
      },
      url: hubOptions.url,
      ...changeOptions,
    },
    details: [
      'Without a client: lists the files of all clients and whether they contain the hub. Shows the change before it is written. Nothing else in the file changes, and "disconnect" reverts it.',
      '--json prints {"client", "file", "name", "state": "connected" | "unchanged" | "planned", "backup", "notes"}, for Raycast {"client", "paste", "notes"}, and without a client a list of {"client", "scope", "file", "state"}.',
    ],
    examples: [
      ['connect claude-code', 'Show the change, ask, and write it'],
      ['connect vscode --workspace --yes', 'For this folder, without asking'],
      [
        'connect cursor --server memory --name memory --dry-run',
        'Preview the entry for a single server',
      ],
    ],
    async run(values, io) {
      const word = textOf(values, 'client');
      const place = await needs.findHub(textOf(values, 'url'));
      if (word === undefined) return await showAll(place, values, needs, io);
      const client = clientOf(word);
      const hub: HubAddress = {
        ...place,
        url: reachable(place.url),
        server: textOf(values, 'server'),
        bridge: await needs.findBridge(),
        ...(place.token === undefined && (await madeToken(place, io.signal))),
      };
      return client === 'raycast'
        ? showPaste(hub, values, io)
        : await connect(client, hub, values, needs, io);
    },
  };
}

async function connect(
  client: ClientName,
  hub: HubAddress,
  values: Values,
  needs: Needs,
  io: Io,
): Promise<ExitCode> {
  const { out, err, screen, errorScreen } = io;
  const { title, next } = clients[client];
  const isJson = values['json'] === true;
  const all = await needs.openClients();
  const plan = await all.planConnect(targetOf(client, values), hub);
  const { file, name } = plan;
  if (plan.after === plan.before) {
    if (isJson) out(asJson({ client, file, name, state: 'unchanged', notes: [] }));
    else out(`${title} already has the hub, as "${name}" in ${file}`);
    return 0;
  }
  if (!isJson) {
    out(screen.paint('bold', `${title}: ${file}${plan.before === undefined ? ' (new)' : ''}`));
    showDifference(differenceIn(plan, client, hub), io);
  }
  const isWritten = await isAgreed(`Write ${file}?`, values, needs, io);
  const backup = isWritten ? await all.carryOut(plan) : undefined;
  const notes = notesFor(client, hub);
  if (isJson) {
    const state = isWritten ? 'connected' : 'planned';
    out(asJson({ client, file, name, state, ...(backup !== undefined && { backup }), notes }));
  } else if (isWritten) {
    const copy = backup === undefined ? '' : `; as it was: ${backup}`;
    out(`${screen.paint('green', 'wrote')} ${file}${copy}`);
    for (const note of notes) err(`${errorScreen.paint('yellow', 'note')}: ${note}`);
    out(next);
  } else out('Nothing was written.');
  return 0;
}

/**
 * The token for calls that a hub without ROUTER_TOKEN generates. Undefined if the hub needs none, does not run, or
 * belongs to another user.
 */
async function madeToken(
  place: HubPlace,
  signal: AbortSignal,
): Promise<Pick<HubAddress, 'token' | 'isTokenMade'>> {
  try {
    const answer = await createHubClient(place, signal).ask({ method: 'GET', path: '/call-token' });
    const token = isObject(answer) ? answer['token'] : undefined;
    return typeof token === 'string' && /^[\w-]{43}$/.test(token)
      ? { token, isTokenMade: true }
      : {};
  } catch {
    // The entry is written without a token. If the hub needs one, its refusal says what to do.
    signal.throwIfAborted();
    return {};
  }
}

/** The diff of a plan. Shows only values of the hub's entry, without the token. */
export function differenceIn(
  { before = '', after = '' }: ConnectPlan,
  client: ClientName,
  hub: HubAddress,
): readonly DiffLine[] {
  const own = textsIn(hubEntry(client, hub)).filter(
    text => hub.token === undefined || !text.includes(hub.token),
  );
  return diffTexts(before, after, own);
}

/** All strings in a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

function notesFor(client: ClientName, hub: HubAddress): readonly string[] {
  const { token, url, isTokenMade } = hub;
  const { title } = clients[client];
  const where = token === undefined ? 'nowhere' : tokenIn(client, hub);
  return [
    ...(where === 'variable'
      ? [
          `${title} reads the token from ${tokenVariable} in its own environment: set it where ${title} is started.`,
        ]
      : []),
    ...(where === 'value'
      ? [
          isTokenMade === true
            ? 'the hub requires a token for calls, which is in that file now: keep the file out of repositories, and do not let others read it.'
            : `the token is in that file now, because ${title} reads no variables: do not let others read it.`,
        ]
      : []),
    ...(token !== undefined && client === 'raycast'
      ? [
          isTokenMade === true
            ? 'the hub requires a token for calls: add the header "Authorization", with "Bearer " and the text of the file call-token in DATA_DIR.'
            : `the hub requires a token: add the header "Authorization", with "Bearer " and the value of ${tokenVariable}.`,
        ]
      : []),
    ...(url.startsWith('https:') ? [`${title} must trust the certificate of ${url}.`] : []),
  ];
}

/** Raycast's server list cannot be edited from outside, so the entry is printed for pasting. */
function showPaste(hub: HubAddress, values: Values, { out, err, errorScreen }: Io): ExitCode {
  const name = textOf(values, 'name') ?? defaultEntryName;
  const notes = notesFor('raycast', hub);
  const paste = { mcpServers: { [name]: hubEntry('raycast', hub) } };
  if (values['json'] === true) {
    out(asJson({ client: 'raycast', paste, notes }));
    return 0;
  }
  out(
    'Raycast manages its servers itself. In Raycast run "Install MCP Server", choose HTTP, and enter:',
  );
  for (const line of columns([
    ['Name', name],
    ['URL', endpointOf(hub)],
  ]))
    out(line);
  out('or copy this before you open it:');
  out(JSON.stringify(paste, undefined, 2));
  for (const note of notes) err(`${errorScreen.paint('yellow', 'note')}: ${note}`);
  return 0;
}

async function showAll(
  hub: Pick<HubAddress, 'url'>,
  values: Values,
  needs: Needs,
  { out }: Io,
): Promise<ExitCode> {
  const states = await (await needs.openClients()).overview(hub);
  if (values['json'] === true) {
    out(asJson(states));
    return 0;
  }
  const rows = states.map(({ client, scope, file, state }) => [client, scope, words[state], file]);
  for (const line of columns(rows)) out(line);
  out('"agenthub connect <client>" adds the hub to a client. For raycast it prints what to paste.');
  return 0;
}

const words = {
  absent: 'no file',
  unconnected: 'not connected',
  connected: 'connected',
  unreadable: 'cannot be read',
} as const;

/** The URL that a client can use to reach the hub. Throws HUB_USAGE. */
function reachable(url: string): string {
  const { protocol, port } = URL.parse(url) ?? {};
  if (port === '0')
    throw new HubError(
      'HUB_USAGE',
      'ROUTER_PORT: the hub chooses a free port, which clients cannot know. Set a port, or give its URL with --url',
    );
  if (protocol === 'http:' || protocol === 'https:') return url.replace(/\/+$/, '');
  throw new HubError(
    'HUB_USAGE',
    `--url: ${JSON.stringify(url)} is not allowed: write an address such as http://localhost:9090`,
  );
}
