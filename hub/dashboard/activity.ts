import { counted, duration, moment } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths, withQuery } from './paths.ts';
import { type Tone, badge, empty, fragment, serverLink, table } from './pieces.ts';

/** An answered client request. Times are in ms. */
export type CallRow = {
  readonly id: string;
  readonly at: number;
  readonly method: string;
  readonly name: string | undefined;
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  readonly tookMs: number;
  readonly serverMs: number;
  readonly outcome: string;
};

/** Filter of the call list. Empty fields match everything. */
export type CallFilter = {
  readonly server: string;
  readonly client: string;
  readonly session: string;
  readonly tool: string;
  readonly outcome: string;
  readonly text: string;
  /** Cursor: only calls older than this one. */
  readonly before: string;
};

export type ActivityView = {
  /** Newest first. */
  readonly calls: readonly CallRow[];
  readonly filter: CallFilter;
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
  /** URL for clients: `http://localhost:9090/mcp`. */
  readonly endpoint: string;
};

/** Choices for the filter form. */
export type FilterChoices = {
  readonly servers: readonly string[];
  readonly clients: readonly string[];
  readonly outcomes: readonly string[];
};

/** Page with all recorded calls. */
export function activity(view: ActivityView, choices: FilterChoices): Html {
  return html`${heading('Activity')}
<p class="lead">The latest client calls, with the time spent in the hub and at the server.</p>
${filterForm(view.filter, choices)}
${activityPartial(view)}`;
}

/** Only the list of calls, live unless it shows an older page: `/dashboard/activity-partial`. */
export function activityPartial(view: ActivityView): Html {
  const { before, ...wanted } = view.filter;
  const content = html`${total(view)}${callTable(view)}${pager(view)}`;
  if (before !== '') return html`<div id="calls">${content}</div>`;
  return fragment(
    { id: 'calls', from: withQuery('/dashboard/activity-partial', wanted), event: 'activity' },
    content,
  );
}

/** The newest calls, for the overview. */
export const recentCalls = (view: ActivityView): Html =>
  fragment(
    { id: 'calls', from: '/dashboard/activity-partial?recent=yes', event: 'activity' },
    callTable(view),
  );

/** Number of calls as far as it is known without reading the following pages. */
const total = ({ calls, next }: ActivityView): Content =>
  calls.length > 0 &&
  html`<p class="note">${counted(calls.length, 'call')}${next !== undefined && ' on this page, more on the next'}</p>`;

/** True if any filter is set. */
const isFiltered = ({ server, client, session, tool, outcome, text }: CallFilter) =>
  [server, client, session, tool, outcome, text].some(value => value !== '');

function callTable({ calls, filter, endpoint }: ActivityView): Html {
  if (calls.length > 0) return table('Calls, newest first', columns, calls);
  if (isFiltered(filter))
    return empty(
      'No call matches the filter.',
      html`<p><a id="all-calls" href="${paths.activity}">Show all calls</a></p>`,
    );
  if (filter.before !== '') return empty('There are no older calls.');
  return empty(
    'No calls yet.',
    html`<p>Connect a client: <code>agenthub connect</code> sets it up, or use the URL <code>${endpoint}</code></p>`,
  );
}

const columns = [
  {
    title: 'Call',
    isHeader: true,
    cell: ({ id, method, name }: CallRow): Content =>
      html`<a id="call-${id}" href="${paths.call(id)}">${name ?? method}</a>${name !== undefined && html` <span class="note">${method}</span>`}`,
  },
  { title: 'When', cell: ({ at }: CallRow) => moment(at) },
  {
    title: 'Server',
    cell: ({ id, server }: CallRow) =>
      server === undefined ? 'the hub' : serverLink(server, `call-${id}-server`),
  },
  { title: 'Client', cell: ({ client }: CallRow) => client },
  {
    title: 'Session',
    cell: ({ id, session }: CallRow) =>
      html`<a id="call-${id}-session" aria-label="Calls of session ${session}" href="${withQuery(paths.activity, { session })}">${session}</a>`,
  },
  { title: 'Outcome', cell: ({ outcome }: CallRow) => outcomeBadge(outcome) },
  { title: 'Took', isNumber: true, cell: ({ tookMs }: CallRow) => duration(tookMs) },
  {
    title: 'At the server',
    isNumber: true,
    cell: ({ server, serverMs }: CallRow) => server !== undefined && duration(serverMs),
  },
  {
    title: 'In the hub',
    isNumber: true,
    cell: ({ tookMs, serverMs }: CallRow) => duration(Math.max(0, tookMs - serverMs)),
  },
] as const;

const outcomes: Readonly<Record<string, readonly [tone: Tone, text: string]>> = {
  ok: ['good', 'ok'],
  tool_error: ['warn', 'tool error'],
  error: ['bad', 'error'],
};

/** An identifier that may wrap between its words. */
const breakable = (code: string): Html =>
  html`<span>${code.split(/(?<=_)/).map((word, at) => html`${at > 0 && html`<wbr>`}${word}`)}</span>`;

/** Badge for the outcome of a call. */
export function outcomeBadge(outcome: string): Html {
  const [tone, text] = outcomes[outcome] ?? ['bad', breakable(outcome)];
  return badge(tone, text);
}

function pager({ filter, next }: ActivityView): Html {
  const newest =
    filter.before !== '' &&
    html`<a id="newest" href="${withQuery(paths.activity, { ...filter, before: '' })}">Newest</a>`;
  const older =
    next !== undefined &&
    html`<a id="older" href="${withQuery(paths.activity, { ...filter, before: next })}">Older</a>`;
  return html`<nav class="pager" aria-label="Pages of calls">${newest}${older}</nav>`;
}

function filterForm(
  filter: CallFilter,
  { servers, clients, outcomes: known }: FilterChoices,
): Html {
  return html`<form class="filter" method="get" action="${paths.activity}" role="search" aria-label="Calls" hx-get="/dashboard/activity-partial" hx-target="#calls" hx-swap="outerHTML" hx-trigger="submit, input delay:300ms" hx-sync="this:queue last">
${select('server', 'Server', filter.server, servers)}
${select('client', 'Client', filter.client, clients)}
${select('outcome', 'Outcome', filter.outcome, known)}
<p><label for="session">Session</label><input id="session" name="session" value="${filter.session}" inputmode="numeric" autocomplete="off"></p>
<p><label for="tool">Tool</label><input id="tool" name="tool" value="${filter.tool}" autocomplete="off" spellcheck="false"></p>
<p><label for="text">Search</label><input id="text" name="text" type="search" value="${filter.text}" autocomplete="off"></p>
<p class="buttons"><button>Filter</button> <a href="${paths.activity}">Reset</a></p>
</form>`;
}

function select(name: string, label: string, chosen: string, choices: readonly string[]): Html {
  const all = chosen === '' || choices.includes(chosen) ? choices : [chosen, ...choices];
  const options = all.map(
    choice => html`<option${choice === chosen && html` selected`}>${choice}</option>`,
  );
  return html`<p><label for="${name}">${label}</label><select id="${name}" name="${name}"><option value="">all</option>${options}</select></p>`;
}
