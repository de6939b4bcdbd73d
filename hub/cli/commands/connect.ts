import {
  type ClientName,
  type HubAddress,
  clients,
  defaultEntryName,
  endpointOf,
  hubEntry,
} from '#clients';
import { HubError, tryParseJson } from '#core';
import { clientOf, clientPositional, targetOf, targetOptions } from '../client-change.ts';
import {
  type Command,
  type ExitCode,
  type Run,
  hubOptions,
  profileOption,
  serverOption,
} from '../command.ts';
import { changeOptions } from '../confirm.ts';
import { connectAll } from '../connect-all.ts';
import { reportChange, showChange, unchangedText, writeChange } from '../connect-change.ts';
import { noteAbsence, notesFor, refuseLogin } from '../connect-notes.ts';
import { createHubClient, refuseEndpoint } from '../hub-client.ts';
import { type OwnToken, findOwnToken, revokeRemoved, warnOfReplaced } from '../own-token.ts';
import { showObsidian } from '../obsidian.ts';
import type { HubPlace } from '../needs.ts';
import { fieldsOf, readWhole } from '../responses.ts';
import { columns } from '../table.ts';
import type { Io } from '../terminal.ts';
import { placeOf, textOf, usageError, wordOf } from '../values.ts';

/** `agenthub connect`: adds the hub to a client's config file. */
export const connect: Command = {
  name: 'connect',
  summary: 'Add the hub to the config of a client, and keep a backup of it.',
  positionals: [{ ...clientPositional, count: 'optional' }],
  options: {
    ...targetOptions,
    ...serverOption('Only this server of the hub, without name prefixes. Default: all servers.'),
    ...profileOption('Only what this profile of the config shows.'),
    url: hubOptions.url,
    all: { help: 'Add the hub to all clients that this machine has.' },
    token: { help: 'Give the client a token of its own, also where calls need none.' },
    login: { help: 'Write no token: the client logs in to the hub with your browser.' },
    ...changeOptions,
  },
  details: [
    'If the hub requires tokens, the client gets one of its own, which "disconnect" revokes. With --login the client asks for one itself, and you allow it in the browser (not claude-desktop).',
    'Without a client: lists the files of all clients and whether they contain the hub. Shows the change before it is written. Nothing else in the file changes, and "disconnect" reverts it.',
    'Obsidian has no MCP client of its own: "connect obsidian" prints the address for its plugins.',
    '--json prints {"client", "file", "name", "state": "connected" | "unchanged" | "planned", "backup", "notes"}, for Raycast {"client", "paste", "notes"}, with --all a list of {"client", "file", "state", "backup", "why"}, and without a client a list of {"client", "scope", "file", "state"}.',
  ],
  examples: [
    ['connect claude-code', 'Show the change, ask, and write it'],
    ['connect vscode --workspace --yes', 'For this folder, without asking'],
    ['connect --all', 'All clients of this machine, after one question'],
    [
      'connect cursor --server memory --name memory --dry-run',
      'Preview the entry for a single server',
    ],
    ['connect cursor --profile work', 'Only what the profile "work" of the config shows'],
  ],
  async run(run) {
    const { values, needs } = run;
    const word = textOf(values, 'client');
    const chosen = placeOf(values);
    const place = await needs.findHub(textOf(values, 'url'));
    refuseEndpoint(place.url, true);
    if (chosen !== undefined) await refuseUnknown(chosen, place, run);
    if (values['all'] === true) {
      const code = await connectAll(client => hubFor(client, place, run), run);
      await noteAbsence(place, run);
      return code;
    }
    if (word === undefined) return await showAll(place, run);
    if (word === 'obsidian')
      return showObsidian({ ...place, url: reachable(place.url), server: chosen }, run);
    const client = clientOf(word);
    const { hub, own } = await hubFor(client, place, run);
    const code =
      client === 'raycast' ? showPaste(hub, run) : await connectClient(client, hub, own, run);
    // The token for calls comes from a running hub. One of the client may have been made without a hub.
    if (own !== undefined || hub.isTokenMade !== true) await noteAbsence(place, run);
    return code;
  },
};

/**
 * Rejects with HUB_SERVER_UNKNOWN or HUB_PROFILE_UNKNOWN if the running hub lacks the chosen server, or profile after
 * "@": it would refuse the client at each start.
 */
async function refuseUnknown(chosen: string, place: HubPlace, io: Io): Promise<void> {
  const hub = createHubClient(place, io);
  const path = `/mcp/${encodeURIComponent(chosen).replace(/^%40/, '@')}/ping`;
  let text: string;
  try {
    text = await readWhole(await hub.send({ method: 'POST', path, body: {} }));
  } catch {
    // Without an answer, skip the check: the hub may not be running yet.
    io.signal.throwIfAborted();
    return;
  }
  const { message, data } = fieldsOf(fieldsOf(tryParseJson(text))['error']);
  const { code } = fieldsOf(data);
  if (code === 'HUB_SERVER_UNKNOWN' || code === 'HUB_PROFILE_UNKNOWN')
    throw new HubError(code, String(message));
}

/** Returns the hub's address for a client's entry, and the token that belongs to that client alone. */
async function hubFor(client: ClientName, place: HubPlace, run: Run) {
  const { values, needs } = run;
  const logsIn = values['login'] === true;
  if (logsIn) refuseLogin(client, values);
  const own =
    client === 'raycast' || logsIn
      ? undefined
      : await findOwnToken(targetOf(client, values), place, await needs.openClients(), run);
  const hub: HubAddress = {
    ...place,
    url: reachable(place.url),
    server: placeOf(values),
    bridge: await needs.findBridge(),
    ...(logsIn
      ? { token: undefined }
      : own
        ? { token: own.token, isTokenMade: true }
        : place.token === undefined && (await madeToken(place, run))),
  };
  return { hub, own };
}

async function connectClient(
  client: ClientName,
  hub: HubAddress,
  own: OwnToken | undefined,
  run: Run,
): Promise<ExitCode> {
  const { isJson, json, out, remark } = run;
  const { next } = clients[client];
  const all = await run.needs.openClients();
  const plan = await all.planConnect(targetOf(client, run.values), hub);
  const { file, name } = plan;
  if (plan.after === plan.before) {
    if (isJson) return json({ client, file, name, state: 'unchanged', notes: [] });
    out(unchangedText(plan, client));
    return 0;
  }
  const change = plan.before === undefined ? ' (new)' : '';
  if (!isJson) showChange(plan, change, client, hub, run);
  warnOfReplaced(own, run);
  const { isWritten, backup } = await writeChange(plan, all, run, own);
  const notes = notesFor(client, hub, {
    own,
    login: run.values['login'] === true ? name : undefined,
  });
  if (isJson) {
    const state = isWritten ? 'connected' : 'planned';
    return json({ client, file, name, state, backup, notes });
  }
  if (!isWritten) return 0;
  reportChange('wrote', file, backup, run);
  for (const note of notes) remark('note', note);
  out(next);
  return 0;
}

/** `agenthub disconnect`: removes the hub from a client's config file. */
export const disconnect: Command = {
  name: 'disconnect',
  summary: 'Remove the hub from the config of a client.',
  positionals: [clientPositional],
  options: { ...targetOptions, url: hubOptions.url, ...changeOptions },
  details: [
    'If the file has not changed since "connect", it is restored byte for byte, or deleted if it did not exist before. Otherwise only the entry is removed, and an entry that it replaced is restored.',
    '--json prints {"client", "file", "name", "state": "disconnected" | "unchanged" | "planned", "restored", "backup"}.',
  ],
  examples: [
    ['disconnect claude-code', 'Show the change, ask, and write it'],
    ['disconnect vscode --workspace --yes', 'For this folder, without asking'],
  ],
  async run(run) {
    const { values, needs, isJson, json, out } = run;
    const client = clientOf(wordOf(values, 'client'));
    if (client === 'raycast') {
      if (isJson) return json({ client, state: 'unchanged' });
      out('Raycast manages its servers itself: remove it there with "Manage MCP Servers".');
      return 0;
    }
    const hub = await needs.findHub(textOf(values, 'url'));
    const all = await needs.openClients();
    const plan = await all.planDisconnect(targetOf(client, values), hub);
    const { file, name, before, after, others } = plan;
    if (after === before) {
      if (isJson) return json({ client, file, name, state: 'unchanged', others });
      const names = others.map(other => `"${other}"`).join(', ');
      const hint = names === '' ? '' : `. The hub is there as ${names}: add --name`;
      out(`${clients[client].title} has no "${name}" in ${file}${hint}`);
      return 0;
    }
    const change = after === undefined ? ' (goes, as "connect" has made it)' : '';
    if (!isJson)
      showChange(plan, change, client, { ...hub, bridge: await needs.findBridge() }, run);
    const tokens = await all.tokens(targetOf(client, values), hub);
    const { isWritten, backup } = await writeChange(plan, all, run);
    if (isWritten) await revokeRemoved(plan, tokens, hub, run);
    const restored = after === undefined || plan.restores.length > 0;
    if (isJson) {
      const state = isWritten ? 'disconnected' : 'planned';
      return json({ client, file, name, state, restored, backup });
    }
    const done = after === undefined ? 'removed' : restored ? 'restored' : 'wrote';
    if (isWritten) reportChange(done, file, backup, run);
    return 0;
  },
};

/**
 * Returns the token for calls that a hub without ROUTER_TOKEN generates. Undefined if the hub needs none, does not run,
 * or belongs to another user.
 */
async function madeToken(
  place: HubPlace,
  io: Io,
): Promise<Pick<HubAddress, 'token' | 'isTokenMade'>> {
  try {
    const answer = await createHubClient(place, io).ask({ method: 'GET', path: '/call-token' });
    const { token } = fieldsOf(answer);
    return typeof token === 'string' && /^[\w-]{43}$/.test(token)
      ? { token, isTokenMade: true }
      : {};
  } catch {
    // The entry gets no token. If the hub needs one, its refusal contains the remedy.
    io.signal.throwIfAborted();
    return {};
  }
}

/** Prints the entry for Raycast, to paste it there: no other program can edit Raycast's server list. */
function showPaste(hub: HubAddress, { values, isJson, out, json, remark }: Run): ExitCode {
  const name = textOf(values, 'name') ?? defaultEntryName;
  const notes = notesFor('raycast', hub);
  const paste = { mcpServers: { [name]: hubEntry('raycast', hub) } };
  if (isJson) return json({ client: 'raycast', paste, notes });
  out(
    'Raycast manages its servers itself. In Raycast run "Install MCP Server", choose HTTP, and enter:',
  );
  const rows = [
    ['Name', name],
    ['URL', endpointOf(hub)],
  ];
  for (const line of columns(rows)) out(line);
  out('or copy this before you open it:');
  out(JSON.stringify(paste, undefined, 2));
  for (const note of notes) remark('note', note);
  return 0;
}

async function showAll(hub: HubPlace, { needs, isJson, out, json }: Run): Promise<ExitCode> {
  const states = await (await needs.openClients()).overview(hub);
  if (isJson) return json(states);
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

/** Returns the URL at which a client can reach the hub. Throws HUB_USAGE if clients cannot know it. */
function reachable(url: string): string {
  const { protocol, port } = URL.parse(url) ?? {};
  if (port === '0')
    throw usageError(
      'ROUTER_PORT: the hub chooses a free port, which clients cannot know. Set a port, or give its URL with --url',
    );
  if (protocol === 'http:' || protocol === 'https:') return url.replace(/\/+$/, '');
  throw usageError(
    `--url: ${JSON.stringify(url)} is not allowed: write an address such as http://localhost:9090`,
  );
}
