import type {
  DashboardRequest,
  Handlers,
  HealthReport,
  PageNeeds,
  PartHealth,
} from './dashboard-types.ts';
import { counted, duration } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { noticeOf } from './actions.ts';
import { paths } from './paths.ts';
import { type Tone, badge, fragment, heading } from './pieces.ts';
import { type PartProblem, problemList } from './problems.ts';
import { serverTable } from './server-table.ts';
import type { ServerRow } from './server-view.ts';
import { statsPartial } from './stats.ts';

type HealthView = HealthReport & {
  readonly rows: readonly ServerRow[];
  readonly now: number;
  /** Numbers of calls and definitions that wait for the owner's decision; false for other visitors. */
  readonly forYou: false | { readonly calls: number; readonly definitions: number };
};

/** Creates the start page: health, servers, statistics and recent calls. */
export function overviewPages(needs: PageNeeds, recentCalls: (request: DashboardRequest) => Html) {
  const { hub, servers, system, telemetry, views } = needs;

  async function healthOf({ visitor }: DashboardRequest): Promise<Html> {
    const [{ answer }] = await Promise.all([hub.health(), views.refresh()]);
    const rows = servers.all.map(server => views.row(server, visitor.rights));
    const forYou = visitor.rights === 'owner' && {
      calls: hub.approvals?.waiting ?? 0,
      definitions: hub.pins?.waiting ?? 0,
    };
    const view = { ...answer, rows, forYou, now: system.clock.now() };
    const parts = Object.entries(answer.parts).map(([key, part]) => ({
      ...part,
      name: partNames[key] ?? key,
      detail: part.detail && telemetry.redact(part.detail),
    }));
    const degraded = parts.filter(({ state }) => state === 'degraded' || state === 'down');
    const { servers: traffic } = telemetry.metrics.snapshot();
    const content = html`${summary(view)}${problemList(rows, degraded)}
<section aria-labelledby="servers"><div class="heading"><h2 id="servers">Servers</h2><div class="actions">${visitor.rights === 'owner' && hub.upgrades && html`<a id="versions" href="${paths.versions}">Versions</a>`}<a id="install" href="${paths.install}">Install a server</a></div></div>
${serverTable(rows, { traffic, costs: await views.costs.get() }, view.now)}</section>
<section aria-labelledby="parts"><h2 id="parts">Hub</h2>
<ul class="parts">${parts.map(partItem)}</ul></section>`;
    return fragment('health', '/dashboard/health-partial', content, 'health', 'approvals', 'pins');
  }

  return {
    async overview(request) {
      await telemetry.activity.restored();
      const main = html`${heading('Overview')}
${await healthOf(request)}
${await statsPartial(needs, request.query('range'))}
<section aria-labelledby="recent"><div class="heading"><h2 id="recent">Latest calls</h2><a href="${paths.activity}">All activity</a></div>
${recentCalls(request)}</section>`;
      const notice = noticeOf(request);
      return { page: { title: 'Overview', at: 'overview', main, events: paths.events, notice } };
    },
    healthPartial: async request => ({ part: await healthOf(request) }),
    statsPartial: async ({ query }) => ({ part: await statsPartial(needs, query('range')) }),
  } satisfies Handlers;
}

const statusBadges: Readonly<Record<HealthReport['status'], readonly [tone: Tone, text: string]>> =
  {
    ok: ['good', 'Healthy'],
    degraded: ['warn', 'Degraded'],
    down: ['bad', 'Down'],
  };

function summary(view: HealthView): Html {
  const { rows, status, sessions, uptime_seconds: upSeconds } = view;
  const running = rows.filter(({ state }) => state === 'running').length;
  const inFlight = rows.reduce((sum, server) => sum + server.inFlight, 0);
  const [tone, text] = statusBadges[status];
  return html`<ul class="tiles">
<li><span class="label">Hub</span><span class="unknown">${badge('idle', 'Unknown')}</span><span class="known">${badge(tone, text)}</span></li>
<li><span class="label">Servers</span><strong>${running} of ${rows.length}</strong> running</li>
<li><span class="label">Sessions</span><strong>${sessions}</strong> open</li>
<li><span class="label">Calls</span><strong>${inFlight}</strong> in flight</li>
<li><span class="label">Up for</span><strong>${duration(Math.max(1, upSeconds) * 1000)}</strong></li>
${waitingTile(view)}</ul>`;
}

/** Returns links to decisions that wait for the owner; nothing if there are none. */
function waitingTile({ forYou }: HealthView): Content {
  if (!forYou || forYou.calls + forYou.definitions === 0) return undefined;
  const { calls, definitions } = forYou;
  return html`<li><span class="label">Waiting for you</span>${calls > 0 && html`<p><a id="waiting-calls" href="${paths.approvals}">${counted(calls, 'call')}</a></p>`}${definitions > 0 && html`<p><a id="waiting-pins" href="${paths.pins}">${counted(definitions, 'definition')}</a></p>`}</li>
`;
}

const partTones: Readonly<Record<string, Tone>> = {
  up: 'good',
  degraded: 'warn',
  down: 'bad',
  off: 'idle',
  unknown: 'idle',
};

const partNames: Readonly<Record<string, string>> = {
  engine: 'Container engine',
  config: 'Config',
  breakers: 'Circuit breakers',
  data: 'Data folder',
  audit: 'Audit log',
  rules: 'Prompt rules',
  ollama: 'Ollama',
  l1: 'Exact prompt cache',
  l2: 'Semantic prompt cache',
};

type Part = Omit<PartHealth, 'detail'> & PartProblem;

function partItem({ name, state, backend, latency_ms: latencyMs, detail }: Part): Html {
  const latency = typeof latencyMs === 'number' && duration(latencyMs);
  const more = [backend, latency].filter(Boolean).join(' · ');
  return html`<li><div class="heading"><strong>${name}</strong>${badge(partTones[state] ?? 'idle', state)}</div><p class="note">${more}</p>${detail !== undefined && html`<p class="note">${detail}</p>`}</li>`;
}
