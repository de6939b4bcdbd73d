import { HubError, shown } from '#core';
import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { ago, bytes, count, counted, duration, percent } from './format.ts';
import { answerOf, noticeOf, whyDisabled } from './actions.ts';
import { egressPart } from './egress.ts';
import { type Content, type Html, html } from './html.ts';
import { oauthPart } from './oauth.ts';
import { paths, withQuery } from './paths.ts';
import { facts, failed, fragment, heading, notice, ownersOnly } from './pieces.ts';
import { serverPinsPart } from './pins.ts';
import { logChoiceOf, logPart, logTab, shownLines } from './server-log.ts';
import { type OfferTab, offersPart } from './server-offers.ts';
import {
  breakerBadge,
  isDown,
  placeOf,
  serverActions,
  stateBadge,
  uptime,
} from './server-state.ts';
import type { ServerView } from './server-view.ts';

const tabs = ['tools', 'resources', 'prompts', 'log', 'details'] as const;
type Tab = (typeof tabs)[number];

/** Creates the page of a server and its parts, and the page that asks before the server is removed. */
export function serverPages(needs: PageNeeds) {
  const { servers, views, changes, telemetry, system } = needs;
  const { logins, pins, tools: switches } = needs.hub;

  /** Shows the hub's login to a remote server, if the server has or requires one. */
  async function loginFor(view: ServerView): Promise<Content> {
    if (view.runsOn !== 'remote' || view.rights !== 'owner' || !logins) return undefined;
    return oauthPart(view, await logins.status(view.name), system.clock.now());
  }

  /** Shows changed definitions of a server to the owner, who decides about them. */
  const pinsFor = ({ name, rights, runsOn }: ServerView): Content =>
    pins && rights === 'owner' && runsOn !== 'hub' && serverPinsPart(pins.report(name));

  function viewOf({ param, query, visitor }: DashboardRequest) {
    const from = query('from');
    return views.whole(
      servers.get(param('name')),
      /^\d{1,9}$/.test(from) ? Number(from) : 0,
      visitor.rights,
    );
  }

  /**
   * Returns the lines of a server's log, and its runs. Without stored logs, there is only the newest run, without
   * times.
   */
  async function logOf({ name, log = '' }: ServerView, back: number) {
    const { logs } = telemetry;
    if (logs)
      return {
        runs: await logs.runs(name),
        lines: await logs.read({ servers: [name], isHubWanted: false, back, lines: shownLines }),
      };
    const texts = log.split('\n').filter(text => text !== '');
    return { runs: [], lines: texts.map(text => ({ at: system.clock.now(), text })) };
  }

  async function tabPart(view: ServerView, tab: Tab, query: DashboardRequest['query']) {
    if (tab === 'details') return detailsTab(view);
    if (tab !== 'log') return offersPart(view, tab, (await views.costs.get()).get(view.name));
    if (view.rights !== 'owner') return ownersOnly(view.rights, 'The log');
    const choice = logChoiceOf(query);
    return logTab(view.name, choice, await logOf(view, choice.back));
  }

  return {
    async server(request) {
      await views.refresh();
      const view = viewOf(request);
      const tab = tabs.find(one => one === request.query('tab')) ?? 'tools';
      const [login, part] = await Promise.all([loginFor(view), tabPart(view, tab, request.query)]);
      return {
        page: {
          title: view.name,
          at: 'overview',
          main: html`${headOf(view, statePartial(view, login), pinsFor(view))}
${tabList(view, tab)}
<div class="tab">${part}</div>`,
          events: withQuery(paths.events, { server: view.name }),
          notice: noticeOf(request),
        },
      };
    },
    async statePartial(request) {
      await views.refresh();
      const view = viewOf(request);
      return { part: statePartial(view, await loginFor(view)) };
    },
    async offersPartial(request) {
      const view = viewOf(request);
      const wanted = request.query('tab');
      const tab: OfferTab = wanted === 'resources' || wanted === 'prompts' ? wanted : 'tools';
      return { part: offersPart(view, tab, (await views.costs.get()).get(view.name)) };
    },
    async logPartial(request) {
      const view = viewOf(request);
      const choice = logChoiceOf(request.query);
      return { part: logPart(view.name, choice, await logOf(view, choice.back)) };
    },
    async switchTool(request): Promise<DashboardAnswer> {
      const { name } = servers.get(request.param('name')).config;
      if (!switches) return noSwitches;
      const tool = toolIn(request.form);
      const isOn = request.form.get('enable') === 'yes';
      await switches.change(name, { enable: isOn ? [tool] : [], disable: isOn ? [] : [tool] });
      views.costs.forget();
      changes.note('offers');
      const done = isOn ? 'tool-on' : 'tool-off';
      return answerOf(request, { done, about: tool, page: paths.server(name) });
    },
    async confirmRemove({ param }) {
      const { name } = servers.get(param('name')).config;
      return { page: { title: `Remove ${name}`, at: 'overview', main: remove(name) } };
    },
  } satisfies Handlers;
}

/** Maximum length of a name in characters. Names of tools are written to the config file. */
const maxToolName = 1_000;

function toolIn(form: URLSearchParams): string {
  const tool = form.get('tool') ?? '';
  if (tool !== '' && tool.length <= maxToolName) return tool;
  const problem = `tool: ${shown(tool)} is not allowed: write the name of a tool`;
  throw new HubError('HUB_REQUEST_INVALID', problem);
}

const noSwitches = failed(
  409,
  'Not here',
  'This hub does not change its config file. Write the tool into "tools.deny" of the entry instead.',
);

function headOf(view: ServerView, state: Html, pins: Content): Html {
  const { name, description, rights, runsOn } = view;
  const isRemovable = rights === 'owner' && runsOn !== 'hub';
  return html`<p class="crumbs"><a href="${paths.overview}">Servers</a></p>
${heading(name, html`<div class="actions"><a class="button" id="calls-${name}" href="${withQuery(paths.activity, { server: name })}">Calls</a>${isRemovable && html`<a class="button danger" id="remove-${name}" href="${paths.remove(name)}">Remove…</a>`}</div>`)}
${description !== undefined && html`<p class="lead">${description}</p>`}
${state}
${pins}`;
}

function tabList({ name, offers }: ServerView, at: Tab): Html {
  const { toolCount, resources, moreResources, prompts, morePrompts } = offers;
  const shown: readonly (readonly [tab: Tab, text: string, items?: number])[] = [
    ['tools', 'Tools', toolCount],
    ['resources', 'Resources', resources.length + moreResources],
    ['prompts', 'Prompts', prompts.length + morePrompts],
    ['log', 'Log'],
    ['details', 'Details'],
  ];
  const links = shown.map(
    ([tab, text, items]) =>
      html`<li><a href="${withQuery(paths.server(name), { tab: tab === 'tools' ? undefined : tab })}"${tab === at && html` aria-current="page"`}>${text}${items !== undefined && html` <span class="note">${count(items)}</span>`}</a></li>`,
  );
  return html`<nav class="tabs" aria-label="About ${name}"><ul>${links}</ul></nav>`;
}

function statePartial(view: ServerView, login: Content): Html {
  const { name, now, lastError } = view;
  const last =
    lastError &&
    !isDown(view) &&
    html`<p class="notice">${lastError.message} <span class="note">${ago(lastError.at, now)}, the last error</span></p>`;
  const content = html`<section aria-label="State"><div class="heading">${stateBadge(view)}<span class="note">${isDown(view) ? undefined : view.detail}</span>${serverActions(view)}</div>
${problems(view)}
${last}
${facts([
  ['Up for', uptime(view, now)],
  ['Restarts', view.restarts],
  ['Runs in', placeOf(view)],
  [
    'Circuit breaker',
    view.breaker !== undefined &&
      html`${breakerBadge(view.breaker)}${view.breakerWhy !== undefined && html` <span class="note">${view.breakerWhy}</span>`}`,
  ],
  ['Calls', `${view.inFlight} in flight, ${view.queued} waiting`],
  ['Ping', view.latencyMs !== undefined && duration(view.latencyMs)],
  ['Memory', memoryOf(view)],
  ['CPU', view.usage?.cpuShare !== undefined && percent(view.usage.cpuShare)],
])}${login}</section>`;
  return fragment('server', paths.part(name, 'state'), content);
}

function detailsTab(view: ServerView): Html {
  const { about, egress, sandbox, config, now } = view;
  return html`${about.length > 0 && html`<section aria-labelledby="program"><h2 id="program">Program</h2>${facts(about)}</section>`}
${egress && egressPart(egress, now)}
<div class="columns">
<section aria-labelledby="sandbox"><h2 id="sandbox">Sandbox</h2>${sandboxPart(sandbox)}</section>
<section><h2>Config</h2><p class="note">As it is in force, with all defaults.</p><pre tabindex="0" role="region" aria-label="Config">${config}</pre></section>
</div>`;
}

const sandboxPart = ({ isThere, rows }: ServerView['sandbox']) =>
  html`${!isThere && notice('bad', 'It runs as a process on this machine, with your permissions and without a sandbox. To isolate it, install it while Docker is running, or set "runtime": "docker".')}${rows.length > 0 && facts(rows)}`;

function memoryOf({ usage }: ServerView): Content {
  if (!usage) return undefined;
  const of = usage.memoryLimitBytes > 0 && ` of ${bytes(usage.memoryLimitBytes)}`;
  return html`${bytes(usage.memoryBytes)}${of}`;
}

function problems(view: ServerView): Content {
  const { name, heldBack, refusedEntry, leftOut } = view;
  const found = [
    heldBack !== undefined && `Its entry waits for your approval: ${heldBack}`,
    !view.isEnabled && heldBack === undefined && whyDisabled(name),
    isDown(view) && causeOf(view),
    view.breaker === 'open' &&
      'The circuit breaker is open: calls are refused for now. A restart closes it.',
    refusedEntry !== undefined && `The new entry in the config is not applied: ${refusedEntry}`,
  ];
  return [
    found.map(text => text && notice('bad', text)),
    view.heldDefinitions > 0 &&
      notice(
        'bad',
        `${counted(view.heldDefinitions, 'definition')} changed or new: hidden until accepted. `,
        view.rights === 'owner'
          ? html`See below, or "agenthub pins ${name}".`
          : html`See "agenthub pins ${name}".`,
      ),
    leftOut.length > 0 &&
      html`<div class="notice bad">Left out of the lists on /mcp, for clients whose revision of MCP refuses them:<ul>${leftOut.map(text => html`<li>${text}</li>`)}</ul></div>`,
    view.advice.map(text => notice('good', text)),
  ];
}

/** Shows why the server does not run, the last line of its output, and a link to its log. */
function causeOf(view: ServerView): Html {
  const { name, detail = 'It does not run.', lastLine, runsOn, rights } = view;
  const isNew = lastLine !== undefined && !detail.includes(lastLine);
  const hasLog = rights === 'owner' && runsOn !== 'remote';
  return html`${detail}${isNew && html` <code class="last-line">${lastLine}</code>`}${hasLog && html` <a id="cause-log" href="${withQuery(paths.server(name), { tab: 'log' })}">Show log</a>`}`;
}

function remove(name: string): Html {
  return html`<p class="crumbs"><a href="${paths.server(name)}">${name}</a></p>
${heading(`Remove ${name}?`)}
<form class="card" method="post" action="${paths.action('remove', name)}">
<p>The hub stops the server and removes its entry from the config file. Clients no longer see its tools.</p>
<p><label><input type="checkbox" name="purge" value="true"> Also remove its image and its volumes. Its stored data is lost</label></p>
<p class="actions"><button class="danger" id="confirm">Remove ${name}</button><a class="button" href="${paths.server(name)}">Keep it</a></p>
</form>`;
}
