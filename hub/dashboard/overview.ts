import { bytes, counted, duration, percent } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';
import { type Column, type Tone, badge, empty, fragment, serverLink, table } from './pieces.ts';
import {
  type ServerRow,
  breakerBadge,
  placeOf,
  serverActions,
  stateBadge,
  uptime,
} from './states.ts';

/** A part of the hub, as in `/health`. */
export type PartRow = {
  readonly name: string;
  readonly state: string;
  readonly backend: string;
  readonly latencyMs: number | undefined;
  readonly detail: string | undefined;
};

export type HealthView = {
  readonly status: 'ok' | 'degraded' | 'down';
  readonly upSeconds: number;
  readonly sessions: number;
  readonly parts: readonly PartRow[];
  readonly servers: readonly ServerRow[];
  readonly now: number;
};

/** Start page: health, servers, statistics and recent calls. */
export function overview(health: HealthView, stats: Html, activity: Html): Html {
  return html`${heading('Overview')}
${healthPartial(health)}
${stats}
<section aria-labelledby="recent"><div class="heading"><h2 id="recent">Latest calls</h2><a href="${paths.activity}">All activity</a></div>
${activity}</section>`;
}

/** Health of parts and servers: `/dashboard/health-partial`. */
export function healthPartial(health: HealthView): Html {
  return fragment(
    { id: 'health', from: '/dashboard/health-partial', event: 'health' },
    summary(health),
    html`<section aria-labelledby="servers"><div class="heading"><h2 id="servers">Servers</h2><a id="install" href="${paths.install}">Install a server</a></div>
${serverTable(health)}</section>
<section aria-labelledby="parts"><h2 id="parts">Parts</h2>
<ul class="parts">${health.parts.map(part)}</ul></section>`,
  );
}

const says: Readonly<Record<HealthView['status'], readonly [tone: Tone, text: string]>> = {
  ok: ['good', 'Healthy'],
  degraded: ['warn', 'Degraded'],
  down: ['bad', 'Not usable'],
};

function summary(health: HealthView): Html {
  const { status, upSeconds, sessions, servers } = health;
  const running = servers.filter(({ state }) => state === 'running').length;
  const inFlight = servers.reduce((sum, server) => sum + server.inFlight, 0);
  const [tone, text] = says[status];
  return html`<ul class="tiles">
<li><span class="label">Hub</span><span class="unknown">${badge('idle', 'Unknown')}</span><span class="known">${badge(tone, text)}</span>${status !== 'ok' && html`<p class="note">${unwell(health)}</p>`}</li>
<li><span class="label">Servers</span><strong>${running} of ${servers.length}</strong> running</li>
<li><span class="label">Sessions</span><strong>${sessions}</strong> open</li>
<li><span class="label">Calls</span><strong>${inFlight}</strong> in flight</li>
<li><span class="label">Up for</span><strong>${duration(Math.max(1, upSeconds) * 1000)}</strong></li>
</ul>`;
}

/** Problems of the hub in words. */
const unwell = ({ parts, servers }: HealthView): string =>
  [
    ...parts
      .filter(({ state }) => state === 'degraded' || state === 'down')
      .map(({ name }) => partNames[name] ?? name),
    ...servers
      .filter(({ state }) => state === 'failed' || state === 'unreachable')
      .map(({ name }) => name),
  ].join(', ');

const actions: Column<ServerRow> = {
  title: 'Actions',
  cell: row => serverActions(row, ['start', 'restart']),
};

function serverTable({ servers, now }: HealthView): Html {
  if (servers.length === 0)
    return empty(
      'No servers yet.',
      html`<p><a class="button primary" id="install-first" href="${paths.install}">Install the first one</a></p><p>or add it to the config file: the hub reloads it automatically.</p>`,
    );
  return table<ServerRow>(
    'Servers',
    [
      { title: 'Server', isHeader: true, cell: ({ name }) => serverLink(name, `server-${name}`) },
      { title: 'State', cell: stateCell },
      { title: 'Up for', isNumber: true, cell: row => uptime(row, now) },
      { title: 'Restarts', isNumber: true, cell: ({ restarts }) => restarts },
      { title: 'Breaker', cell: ({ breaker }) => breakerBadge(breaker) },
      { title: 'Memory', isNumber: true, cell: memoryCell },
      { title: 'CPU', isNumber: true, cell: cpuCell },
      { title: 'Tools', isNumber: true, cell: ({ tools }) => tools },
      ...(servers.some(({ rights }) => rights === 'owner') ? [actions] : []),
    ],
    servers,
  );
}

function stateCell(row: ServerRow): Content {
  const waiting =
    row.queued > 0 && html`<span class="note">${counted(row.queued, 'call')} waiting</span>`;
  return html`<div class="state">${stateBadge(row)}<span class="note">${row.detail ?? placeOf(row)}</span>${waiting}</div>`;
}

function memoryCell({ usage }: ServerRow): Content {
  if (!usage) return undefined;
  const { memoryBytes, memoryLimitBytes } = usage;
  return html`${bytes(memoryBytes)}${memoryLimitBytes > 0 && html` <span class="note">of ${bytes(memoryLimitBytes)}</span>`}`;
}

const cpuCell = ({ usage }: ServerRow): Content =>
  usage?.cpuShare === undefined ? undefined : percent(usage.cpuShare);

const partTones: Readonly<Record<string, Tone>> = {
  up: 'good',
  degraded: 'warn',
  down: 'bad',
  off: 'idle',
  unknown: 'idle',
};

const partNames: Readonly<Record<string, string>> = {
  engine: 'Engine',
  config: 'Config',
  breakers: 'Breakers',
  rules: 'Rules for prompts',
  ollama: 'Ollama',
  l1: 'Cache of equal prompts',
  l2: 'Cache of similar prompts',
};

function part({ name, state, backend, latencyMs, detail }: PartRow): Html {
  const more = [backend, latencyMs !== undefined && duration(latencyMs)]
    .filter(Boolean)
    .join(' · ');
  return html`<li><div class="heading"><strong>${partNames[name] ?? name}</strong>${badge(partTones[state] ?? 'idle', state)}</div><p class="note">${more}</p>${detail !== undefined && html`<p class="note">${detail}</p>`}</li>`;
}
