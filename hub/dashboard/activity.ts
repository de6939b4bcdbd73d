import type { CallSummary, Payload } from '#activity';
import { HubError, tryParseExactly } from '#core';
import { visible } from '#definitions';
import type { DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { counted, duration, moment } from './format.ts';
import { type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import {
  type Tone,
  badge,
  breakable,
  connectHint,
  empty,
  facts,
  fragment,
  heading,
  optionsOf,
  ownersOnly,
  payload,
  serverLink,
  table,
} from './pieces.ts';

/** Number of calls on a page of the list; `recent` is that on the overview. */
const perPage = 50;
const recent = 10;
/** Number of recent calls from which the options of the filters are taken. */
const lookedThrough = 2_000;

/** Creates the list of calls, and the page of each call. */
export function activityPages({ telemetry: { activity }, servers, system }: PageNeeds) {
  function viewOf(request: DashboardRequest) {
    const filter = filterOf(request);
    const { before, kind: _kind, range, ...texts } = filter;
    const wanted = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== ''));
    const older = before !== '' && { before: Number(before) };
    const minutes = ranges.find(([name]) => name === range)?.[2];
    const found = activity.list(
      {
        ...wanted,
        ...older,
        ...(isToolCalls(filter) && { method: toolCall }),
        ...(minutes !== undefined && { since: system.clock.now() - minutes * 60_000 }),
      },
      perPage + 1,
    );
    const calls = found.slice(0, perPage);
    const next = found.length > perPage ? calls.at(-1)?.id : undefined;
    return { calls, filter, next, endpoint: request.endpoint };
  }

  function choices() {
    const calls = activity.list({}, lookedThrough);
    const those = (pick: (one: CallSummary) => string | undefined) =>
      [...new Set(calls.flatMap(one => pick(one) ?? []))].sort();
    const outcomes = ['failed', 'ok', 'tool_error', 'error', ...those(({ outcome }) => outcome)];
    return {
      servers: servers.all.map(({ config }) => config.name),
      clients: those(({ client }) => client),
      outcomes: [...new Set(outcomes)],
    };
  }

  function recentCalls({ endpoint }: DashboardRequest): Html {
    const calls = callTable(activity.list({ method: toolCall }, recent), endpoint);
    return fragment(listId, '/dashboard/activity-partial?recent=yes', calls, 'activity');
  }

  return {
    recentCalls,
    handlers: {
      async activity(request) {
        await activity.restored();
        const view = viewOf(request);
        const main = html`${heading('Activity')}
${filterForm(view.filter, choices())}
<div id="found">${callList(view)}</div>`;
        return { page: { title: 'Activity', at: 'activity', main, events: paths.events } };
      },
      async activityPartial(request) {
        await activity.restored();
        if (request.query('recent') !== '') return { part: recentCalls(request) };
        const view = viewOf(request);
        // Put the filter in the URL, so that the back button returns to the filtered list. An update of the list may
        // have begun before the filter was changed.
        const headers = { 'hx-replace-url': withQuery(paths.activity, view.filter) };
        const isUpdate = request.headers['hx-target'] === listId;
        return { part: callList(view), ...(request.isHtmx && !isUpdate && { headers }) };
      },
      async call({ param, visitor: { rights } }) {
        await activity.restored();
        const id = param('id');
        const found = /^\d{1,15}$/.test(id) ? activity.find(Number(id)) : undefined;
        if (!found)
          throw new HubError(
            'HUB_CALL_UNKNOWN',
            `There is no record of the call ${id.slice(0, 20)}: newer calls have replaced it`,
          );
        const payloads =
          rights === 'owner'
            ? html`<section><h2>Request</h2>${payload(pretty(found.request), 'Request')}</section>
<section><h2>Answer</h2>${payload(pretty(found.reply), 'Answer')}</section>`
            : html`<section><h2>Request and response</h2>${ownersOnly(rights, 'The content')}</section>`;
        const main = html`${callFacts(found)}
${payloads}`;
        return { page: { title: found.name ?? found.method, at: 'activity', main } };
      },
    } satisfies Handlers,
  };
}

const toolCall = 'tools/call';
/** Id of the list of calls. Updates replace its element, so the form, whose answer may come later, has another target. */
const listId = 'calls';

/** Time ranges of the filter: name in the query, label, and length in minutes. */
const ranges: readonly (readonly [name: string, text: string, minutes?: number])[] = [
  ['', 'All times'],
  ['15m', '15 min', 15],
  ['1h', '1 h', 60],
  ['24h', '24 h', 24 * 60],
];

const isToolCalls = ({ kind, session, tool }: CallFilter): boolean =>
  kind === 'tools' || (kind !== 'all' && session === '' && tool === '');

/** Returns links that each change one part of the filter. */
function filterChips(filter: CallFilter): Html {
  const link = (id: string, text: string, change: Partial<CallFilter>, isOn: boolean) =>
    html`<li><a class="chip" id="chip-${id}"${isOn && html` aria-current="true"`} href="${withQuery(paths.activity, { ...filter, before: '', ...change })}">${text}</a></li>`;
  const { outcome, range } = filter;
  const isTools = isToolCalls(filter);
  return html`<div class="chips" role="group" aria-label="Quick filters"><ul>${link('tools', 'Tool calls', { kind: 'tools' }, isTools)}${link('all', 'All requests', { kind: 'all' }, !isTools)}</ul>
<ul>${link('any', 'Any outcome', { outcome: '' }, outcome === '')}${link('failed', 'Failed', { outcome: 'failed' }, outcome === 'failed')}</ul>
<ul>${ranges.map(([name, text]) => link(`range-${name || 'all'}`, text, { range: name }, range === name))}</ul></div>`;
}

type CallFilter = ReturnType<typeof filterOf>;

/** Filter of the call list. Empty fields match everything; `before` is the cursor of an older page. */
function filterOf({ query }: DashboardRequest) {
  const asked = (name: string) => query(name).trim();
  return {
    server: asked('server'),
    client: asked('client'),
    session: asked('session'),
    tool: asked('tool'),
    outcome: asked('outcome'),
    /**
     * `all` for all requests, `tools` for calls of tools. Default: calls of tools, unless the filter is for a session
     * or a name.
     */
    kind: asked('kind'),
    range: asked('range'),
    text: asked('text'),
    before: /^\d{1,15}$/.test(asked('before')) ? asked('before') : '',
  };
}

type CallListView = {
  readonly calls: readonly CallSummary[];
  readonly filter: CallFilter;
  readonly next: number | undefined;
  readonly endpoint: string;
};

/** Returns the list of calls. The newest page updates itself. */
function callList({ calls, filter, next, endpoint }: CallListView): Html {
  const { before, ...wanted } = filter;
  // On a page with more calls after it, the total number is unknown.
  const total =
    calls.length > 0 &&
    html`<p class="note">${counted(calls.length, 'call')}${next !== undefined && ' on this page, more on the next'}</p>`;
  const content = html`${filterChips(filter)}${total}${callTable(calls, endpoint, filter)}${pager(filter, next)}`;
  if (before !== '') return html`<div id="${listId}">${content}</div>`;
  const from = withQuery('/dashboard/activity-partial', wanted);
  return fragment(listId, from, content, 'activity');
}

function callTable(calls: readonly CallSummary[], endpoint: string, filter?: CallFilter): Html {
  if (calls.length > 0) return table('Calls, newest first', calls, columns, 'dense');
  const { before = '', ...texts } = filter ?? {};
  if (Object.values(texts).some(value => value !== ''))
    return empty(
      'No call matches the filter.',
      html`<p><a id="all-calls" href="${paths.activity}">Show all calls</a></p>`,
    );
  if (before !== '') return empty('There are no older calls.');
  return empty('No calls yet.', connectHint(endpoint));
}

// Clients choose names: their invisible characters could reverse the text beside them.
const columns: Parameters<typeof table<CallSummary>>[2] = [
  [
    'Call',
    ({ id, method, name }) =>
      html`<a id="call-${id}" href="${paths.call(id)}">${visible(name ?? method)}</a>${name !== undefined && method !== 'tools/call' && html` <span class="note">${method}</span>`}`,
  ],
  ['Time', ({ at }) => moment(at)],
  [
    'Server',
    ({ id, server }) => (server === undefined ? 'hub' : serverLink(server, `call-${id}-server`)),
  ],
  ['Client', ({ client }) => client !== undefined && visible(client)],
  [
    'Session',
    ({ id, session }) =>
      html`<a id="call-${id}-session" aria-label="Calls of session ${session}" href="${withQuery(paths.activity, { session })}">${session}</a>`,
  ],
  ['Outcome', ({ outcome }) => outcomeBadge(outcome)],
  ['Took', ({ tookMs }) => duration(tookMs), 'number'],
  ['Server time', ({ server, serverMs }) => server !== undefined && duration(serverMs), 'number'],
  ['Hub time', ({ tookMs, serverMs }) => duration(Math.max(0, tookMs - serverMs)), 'number'],
];

const outcomes: ReadonlyMap<string, readonly [tone: Tone, text: string]> = new Map([
  ['ok', ['good', 'ok']],
  ['tool_error', ['warn', 'tool error']],
  ['error', ['bad', 'error']],
]);

export function outcomeBadge(outcome: string): Html {
  const [tone, text] = outcomes.get(outcome) ?? ['bad', breakable(outcome)];
  return badge(tone, text);
}

function pager(filter: CallFilter, next: number | undefined): Html {
  const link = (id: string, text: string, before: number | undefined) =>
    html`<a id="${id}" href="${withQuery(paths.activity, { ...filter, before })}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages of calls">${filter.before !== '' && link('newest', 'Newest', undefined)}${next !== undefined && link('older', 'Older', next)}</nav>`;
}

function filterForm(
  filter: CallFilter,
  choices: Readonly<Record<'servers' | 'clients' | 'outcomes', readonly string[]>>,
): Html {
  return html`<form class="filter" method="get" action="${paths.activity}" role="search" aria-label="Calls" hx-get="/dashboard/activity-partial" hx-target="#found" hx-trigger="submit, input delay:300ms" hx-sync="this:queue last">
${(['kind', 'range'] as const).map(name => filter[name] !== '' && html`<input type="hidden" name="${name}" value="${filter[name]}">`)}
${select('server', 'Server', filter.server, choices.servers)}
${select('client', 'Client', filter.client, choices.clients)}
${select('outcome', 'Outcome', filter.outcome, choices.outcomes)}
<p><label for="session">Session</label><input id="session" name="session" value="${filter.session}" inputmode="numeric" autocomplete="off"></p>
<p><label for="tool">Tool</label><input id="tool" name="tool" value="${filter.tool}" autocomplete="off" spellcheck="false"></p>
<p><label for="text">Search</label><input id="text" name="text" type="search" value="${filter.text}" autocomplete="off"></p>
<p class="buttons"><button>Filter</button> <a href="${paths.activity}">Reset</a></p>
</form>`;
}

function select(name: string, label: string, chosen: string, choices: readonly string[]): Html {
  const all = chosen === '' || choices.includes(chosen) ? choices : [chosen, ...choices];
  return html`<p><label for="${name}">${label}</label><select id="${name}" name="${name}"><option value="">all</option>${optionsOf(all, chosen)}</select></p>`;
}

function callFacts(call: CallSummary): Html {
  const { name, method, server, client, session, at, outcome, tookMs, serverMs } = call;
  const hubMs = Math.max(0, tookMs - serverMs);
  const share = Math.round((hubMs / Math.max(hubMs + serverMs, Number.MIN_VALUE)) * 1000) / 10;
  return html`<p class="crumbs"><a href="${paths.activity}">Activity</a></p>
${heading(visible(name ?? method), outcomeBadge(outcome))}
${facts([
  ['Method', method],
  ['Server', server === undefined ? 'the hub itself' : serverLink(server)],
  ['Client', visible(client ?? 'unknown')],
  ['Session', html`<code>${session}</code>`],
  ['When', moment(at, 'date')],
  ['Took', duration(tookMs)],
])}
<section aria-labelledby="split"><h2 id="split">Where the time went</h2><svg class="split" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="second" width="${share}" height="4"/><rect class="first" x="${share}" width="${100 - share}" height="4"/></svg>
<ul class="key"><li class="second">hub ${duration(hubMs)}</li><li class="first">server ${duration(serverMs)}</li></ul></section>`;
}

/** Formats JSON. Other text, such as truncated JSON, is unchanged. */
function pretty(message: Payload | undefined): string {
  if (!message)
    return 'Newer calls have replaced this, or it is older than the last restart: messages of calls are not kept when the hub restarts.';
  const value = tryParseExactly(message.text);
  const text = value === undefined ? message.text : JSON.stringify(value, undefined, 2);
  return message.isCut ? `${text}\n… the rest was not kept` : text;
}
