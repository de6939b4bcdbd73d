import type { Activity } from '#activity';
import { type ClientName, clientNames, clients, defaultEntryName, hubEntry } from '#clients';
import type { Clock } from '#core';
import type { Router } from '#routing';
import type { DashboardRequest, Handlers } from './dashboard-types.ts';
import { ago, counted } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { badge, copyable, fragment, heading } from './pieces.ts';

type Needs = {
  readonly router: Pick<Router, 'sessions'>;
  readonly telemetry: { readonly activity: Pick<Activity, 'list' | 'restored'> };
  readonly hub: { readonly access: { readonly needsToken: () => boolean } };
  readonly system: { readonly clock: Pick<Clock, 'now'> };
};

/** Names that clients send in `initialize`, without their version. */
const calledBy: Readonly<Record<ClientName, RegExp>> = {
  'claude-code': /^claude-code\b/i,
  'claude-desktop': /^claude-(?:ai|desktop)\b/i,
  vscode: /^(?:visual studio code|vscode)\b/i,
  cursor: /^cursor\b/i,
  windsurf: /^windsurf\b/i,
  codex: /^codex\b/i,
  'gemini-cli': /^gemini-cli\b/i,
  'qwen-code': /^qwen-(?:cli|code)\b/i,
  'copilot-cli': /^copilot-cli\b/i,
  opencode: /^opencode\b/i,
  raycast: /^raycast\b/i,
};

/** Number of recent calls that are searched for the last call of each client. */
const lookedThrough = 2_000;

/** Creates the page with a card for each client: whether it is connected, and how to connect it. */
export function connectPages({ router, telemetry, hub, system: { clock } }: Needs) {
  function cards({ endpoint }: DashboardRequest): Html {
    const sessions = router.sessions();
    const calls = telemetry.activity.list({}, lookedThrough);
    const now = clock.now();
    const needsToken = hub.access.needsToken();
    const content = clientNames.map(name => {
      const isIts = ({ client }: { readonly client: string | undefined }) =>
        client !== undefined && calledBy[name].test(client);
      const open = sessions.filter(isIts).length;
      const seen = calls.find(isIts);
      return card(name, { endpoint, needsToken }, stateOf(open, seen && ago(seen.at, now)));
    });
    return fragment(
      'clients',
      paths.connectPart,
      html`<ul class="clients">${content}</ul>`,
      'sessions',
    );
  }

  return {
    async connect(request) {
      await telemetry.activity.restored();
      const { endpoint } = request;
      const main = html`${heading('Connect')}
<p class="lead">All clients use the same address, for all servers:</p>
${copyable('endpoint', endpoint)}
${hub.access.needsToken() && html`<p class="notice">This hub requires a token. Clients that log in open your browser; the others read it from the variable <code>ROUTER_TOKEN</code>.</p>`}
${cards(request)}
<p class="note">A <a href="${paths.sessions}">list of the connected clients</a> is under Sessions.</p>`;
      return { page: { title: 'Connect', at: 'connect', main, events: paths.events } };
    },
    connectPartial: async request => ({ part: cards(request) }),
  } satisfies Handlers;
}

const stateOf = (open: number, seen: string | undefined): Html =>
  open > 0
    ? badge('good', `connected${open > 1 ? `, ${counted(open, 'session')}` : ''}`)
    : badge('idle', seen === undefined ? 'not seen yet' : `last call ${seen}`);

type Target = { readonly endpoint: string; readonly needsToken: boolean };

function card(name: ClientName, target: Target, state: Html): Html {
  const { title, next } = clients[name];
  const link = deepLink(name, target);
  const entry = snippet(name, target);
  return html`<li class="card"><div class="heading"><h2>${title}</h2>${state}</div>
${link !== undefined && html`<p><a class="button primary" id="add-${name}" href="${link}">Add to ${title}</a></p>`}
<p>${link === undefined ? 'Let the hub write its entry:' : 'Or let the hub write its entry:'}</p>${copyable(`connect-${name}`, `npx agenthub connect ${name}`)}
${entry !== undefined && html`<details id="entry-${name}" hx-preserve="true"><summary id="entry-${name}-summary">Entry to paste</summary>${copyable(`entry-${name}-text`, entry)}</details>`}
<p class="note">${next}</p>${seenCalls(name)}</li>
`;
}

/** Search words for the calls of clients that send another name in `initialize`. */
const searched: Readonly<Record<string, string>> = {
  'claude-desktop': 'claude-ai',
  vscode: 'visual studio',
  'qwen-code': 'qwen-c',
};

const seenCalls = (name: ClientName): Content =>
  html`<p><a id="calls-${name}" href="${withQuery(paths.activity, { text: searched[name] ?? name })}">Its calls</a></p>`;

function entryFor(name: ClientName, { endpoint, needsToken }: Target) {
  // Entries contain a reference to the variable: the dashboard never shows the token itself.
  const token = needsToken ? 'ROUTER_TOKEN' : undefined;
  return hubEntry(name, { url: endpoint, token, bridge: { command: 'agenthub', args: [] } });
}

/**
 * Returns the entry in the format of the client's file; undefined for a client whose entry needs a path of this
 * machine.
 */
function snippet(name: ClientName, target: Target): string | undefined {
  if (name === 'claude-desktop') return undefined;
  const entry = entryFor(name, target);
  const { format, servers } = clients[name];
  if (format === 'toml')
    return [
      `[${[...servers, defaultEntryName].join('.')}]`,
      ...Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
    ].join('\n');
  return JSON.stringify({ [servers.join('.')]: { [defaultEntryName]: entry } }, undefined, 2);
}

/** Returns a link that opens the client with the entry filled in; undefined for clients without such links. */
function deepLink(name: ClientName, target: Target): string | undefined {
  const entry = entryFor(name, target);
  if (name === 'cursor') {
    const config = Buffer.from(JSON.stringify(entry)).toString('base64');
    const query = new URLSearchParams({ name: defaultEntryName, config });
    return `cursor://anysphere.cursor-deeplink/mcp/install?${query.toString()}`;
  }
  if (name !== 'vscode') return undefined;
  const named = JSON.stringify({ name: defaultEntryName, ...entry });
  return `vscode:mcp/install?${encodeURIComponent(named)}`;
}
