import type { Metrics } from '#telemetry';
import type { ToolStates } from '#tools';
import { bytes, count, counted, duration, percent } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { empty, serverLink, table } from './pieces.ts';
import { placeOf, rowActions, stateBadge, uptime } from './server-state.ts';
import type { ServerRow } from './server-view.ts';

/** Numbers of calls per server since the start of the hub. */
type CallTotals = ReturnType<Metrics['snapshot']>['servers'];

type Figures = {
  readonly traffic: CallTotals;
  /** Token costs of tools by server. */
  readonly costs: ReadonlyMap<string, Pick<ToolStates, 'tokens'>>;
};

/** Shows all servers in a table, one line each. */
export function serverTable(
  rows: readonly ServerRow[],
  { traffic, costs }: Figures,
  now: number,
): Html {
  if (rows.length === 0)
    return empty(
      'No servers yet.',
      html`<p><a class="button primary" id="install-first" href="${paths.install}">Install the first one</a></p><p>You can also add it to the config file. The hub reloads the file by itself.</p>`,
    );
  const isOwner = rows.some(({ rights }) => rights === 'owner');
  const of = (row: ServerRow) => traffic.get(row.name);
  const tokens = [
    'Tokens',
    ({ name }: ServerRow) => {
      const cost = costs.get(name)?.tokens;
      return cost === undefined || cost === 0 ? undefined : count(cost);
    },
    'number',
  ] as const;
  return table<ServerRow>(
    'Servers',
    rows,
    [
      ['Server', ({ name }) => serverLink(name, `server-${name}`)],
      ['State', stateCell],
      ['Runs in', placeCell],
      ['Calls', row => count(of(row)?.calls ?? 0), 'number'],
      ['Errors', row => errorShare(of(row)), 'number'],
      ['p95', row => latencyOf(of(row)?.p95Ms), 'number'],
      ['Tools', ({ tools }) => tools, 'number'],
      ...(costs.size > 0 ? [tokens] : []),
      ['Memory', memoryCell, 'number'],
      ['CPU', ({ usage }) => usage?.cpuShare !== undefined && percent(usage.cpuShare), 'number'],
      ['Up for', row => uptime(row, now), 'number'],
      ...(isOwner ? [['Actions', rowActions] as const] : []),
    ],
    'dense',
  );
}

function stateCell(row: ServerRow): Content {
  const { detail, queued, restarts, breaker } = row;
  const more = [
    queued > 0 && `${counted(queued, 'call')} waiting`,
    breaker === 'open' && 'breaker open',
    breaker === 'half_open' && 'breaker half open',
    detail,
    restarts > 0 && counted(restarts, 'restart'),
  ]
    .filter(text => text !== false && text !== undefined)
    .join(' · ');
  return html`<div class="state">${stateBadge(row)}${more !== '' && html`<span class="note" title="${more}">${more}</span>`}</div>`;
}

const placeCell = (row: ServerRow): Content =>
  row.runsOn === 'process'
    ? html`<span title="A process on this machine with your permissions: no sandbox">process <span class="note">no sandbox</span></span>`
    : placeOf(row);

type CallsOfServer = CallTotals extends ReadonlyMap<string, infer One> ? One : never;

/** Returns the share of failed calls, including errors that tools report. */
function errorShare(traffic: CallsOfServer | undefined): Content {
  if (!traffic || traffic.calls === 0) return undefined;
  const { calls, errors, toolErrors } = traffic;
  const bad = errors + toolErrors;
  if (bad === 0) return '0 %';
  return html`<span class="failing" title="${count(errors)} failed, ${count(toolErrors)} reported an error">${percent(bad / calls)}</span>`;
}

const latencyOf = (p95Ms: number | undefined): Content =>
  p95Ms === undefined ? undefined : duration(p95Ms);

function memoryCell({ usage }: ServerRow): Content {
  if (!usage) return undefined;
  const { memoryBytes, memoryLimitBytes } = usage;
  if (memoryLimitBytes === 0) return bytes(memoryBytes);
  return html`<span title="of ${bytes(memoryLimitBytes)}">${bytes(memoryBytes)}</span>`;
}
