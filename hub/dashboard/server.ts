import type { DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { ago, brief, bytes, counted, duration, percent } from './format.ts';
import { egressPart } from './egress.ts';
import { type Content, type Html, html } from './html.ts';
import { oauthPart } from './oauth.ts';
import { noticeOf } from './actions.ts';
import { serverPinsPart } from './pins.ts';
import { paths, withQuery } from './paths.ts';
import { empty, facts, fragment, heading, notice, ownersOnly, table } from './pieces.ts';
import {
  breakerBadge,
  isDown,
  placeOf,
  serverActions,
  stateBadge,
  uptime,
} from './server-state.ts';
import { type ListedItem, type ServerView, toolsPerPage } from './server-view.ts';

/** The page of a server, its parts, and the page that asks before the server is removed. */
export function serverPages({ servers, views, hub: { logins, pins }, system }: PageNeeds) {
  /** The login to a remote server, if it has or wants one. */
  async function loginFor(view: ServerView): Promise<Content> {
    if (view.runsOn !== 'remote' || view.rights !== 'owner' || !logins) return undefined;
    return oauthPart(view, await logins.status(view.name), system.clock.now());
  }

  /** What changed since it was accepted. Only the owner decides about that. */
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

  return {
    async server(request) {
      await views.refresh();
      const view = viewOf(request);
      return {
        page: {
          title: view.name,
          at: 'overview',
          main: server(view, await loginFor(view), pinsFor(view)),
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
    offersPartial: async request => ({ part: offersPartial(viewOf(request)) }),
    async logPartial(request) {
      const { name, log } = viewOf(request);
      return { part: logPartial(name, log ?? '') };
    },
    async confirmRemove({ param }) {
      const { name } = servers.get(param('name')).config;
      return { page: { title: `Remove ${name}`, at: 'overview', main: remove(name) } };
    },
  } satisfies Handlers;
}

function server(view: ServerView, login: Content, pins: Content): Html {
  const { name, description } = view;
  return html`<p class="crumbs"><a href="${paths.overview}">Servers</a></p>
${heading(name, view.rights === 'owner' && view.runsOn !== 'hub' && html`<div class="actions"><a class="button danger" id="remove-${name}" href="${paths.remove(name)}">Remove…</a></div>`)}
${description !== undefined && html`<p class="lead">${description}</p>`}
${statePartial(view, login)}
${pins}
${offersPartial(view)}
<section><h2>Log</h2><p class="note">The last lines that it wrote to stderr since its start.</p>
${view.log === undefined ? ownersOnly(view.rights, 'The log') : logPartial(name, view.log)}</section>
<div class="columns">
<section aria-labelledby="sandbox"><h2 id="sandbox">Active sandbox</h2>${sandboxPart(view.sandbox)}</section>
<section><h2>Active config</h2><pre tabindex="0" role="region" aria-label="Active config">${view.config}</pre></section>
</div>`;
}

function statePartial(view: ServerView, login: Content): Html {
  const { name, now, lastError } = view;
  const last =
    lastError &&
    !isDown(view) &&
    html`<p class="notice">${lastError.message} <span class="note">${ago(lastError.at, now)}, the last error</span></p>`;
  const content = html`<section aria-labelledby="state"><div class="heading"><h2 id="state">State</h2>${stateBadge(view)}${serverActions(view)}</div>
${problems(view)}
${last}
${facts([
  ['Up for', uptime(view, now)],
  ['Restarts', view.restarts],
  ['Runs as', placeOf(view)],
  [
    'Breaker',
    html`${breakerBadge(view.breaker)}${view.breakerWhy !== undefined && html` <span class="note">${view.breakerWhy}</span>`}`,
  ],
  ['Calls', `${view.inFlight} in flight, ${view.queued} waiting`],
  ['Answers in', view.latencyMs !== undefined && duration(view.latencyMs)],
  ['Memory', memoryOf(view)],
  ['CPU', view.usage?.cpuShare !== undefined && percent(view.usage.cpuShare)],
  ...view.about,
])}${login}</section>${view.egress && egressPart(view.egress, now)}`;
  return fragment('server', paths.part(name, 'state'), content);
}

function memoryOf({ usage }: ServerView): Content {
  if (!usage) return undefined;
  const of = usage.memoryLimitBytes > 0 && ` of ${bytes(usage.memoryLimitBytes)}`;
  return html`${bytes(usage.memoryBytes)}${of}`;
}

function problems(view: ServerView): Content {
  const { name, heldBack, refusedEntry, leftOut } = view;
  const found = [
    heldBack !== undefined && `Its entry waits for your approval: ${heldBack}`,
    !view.isEnabled &&
      heldBack === undefined &&
      `${name} is disabled in the config. Remove "enabled": false from its entry, or set it to true, to use it.`,
    isDown(view) && view.detail,
    view.breaker === 'open' &&
      'The breaker is open: calls are refused for now. A restart closes it.',
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

function offersPartial(view: ServerView): Html {
  const { name, offers, state } = view;
  const { tools, toolCount, from, resources, prompts } = offers;
  const content = html`<section aria-labelledby="tools"><h2 id="tools">Tools <span class="note">${toolCount}</span></h2>
${toolCount === 0 ? empty(state === 'running' ? 'It offers no tools.' : 'Start the server to see its tools.') : toolTable(name, tools)}${toolPager(view)}</section>
${resources.length > 0 && html`<section aria-labelledby="resources"><h2 id="resources">Resources <span class="note">${resources.length + offers.moreResources}</span></h2>${offerTable('Resources', resources)}${more(offers.moreResources)}</section>`}
${prompts.length > 0 && html`<section aria-labelledby="prompts"><h2 id="prompts">Prompts <span class="note">${prompts.length + offers.morePrompts}</span></h2>${offerTable('Prompts', prompts)}${more(offers.morePrompts)}</section>`}`;
  const path = withQuery(paths.part(name, 'offers'), { from: from || undefined });
  return fragment('offers', path, content);
}

const more = (number: number) => number > 0 && html`<p class="note">and ${number} more</p>`;

const toolTable = (server: string, tools: readonly ListedItem[]) =>
  table('Tools', tools, [
    [
      'Tool',
      ({ name }) => html`<a id="tool-${name}" href="${paths.tool(server, name)}">${name}</a>`,
    ],
    ['Description', saysOf],
    [
      'Try',
      ({ name }) =>
        html`<a class="button" id="try-${name}" aria-label="Try it: ${name}" href="${paths.tool(server, name)}">Try it</a>`,
    ],
  ]);

const offerTable = (caption: string, offers: readonly ListedItem[]) =>
  table(caption, offers, [
    ['Name', ({ name }) => html`<code>${name}</code>`],
    ['Description', saysOf],
  ]);

const saysOf = ({ title, description }: ListedItem): Content => brief(description ?? title ?? '');

function toolPager({ name, offers: { from, toolCount } }: ServerView): Content {
  const link = (text: string, at: number) =>
    html`<a id="tools-from-${at}" href="${withQuery(paths.server(name), { from: at || undefined })}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages of tools">${from > 0 && link('Before', Math.max(0, from - toolsPerPage))}${from + toolsPerPage < toolCount && link('More', from + toolsPerPage)}</nav>`;
}

function logPartial(name: string, log: string): Html {
  const text = html`<pre id="log-text" tabindex="0" role="region" aria-label="Log" data-tail="yes">${log}</pre>`;
  const content = log === '' ? empty('The server has written nothing yet.') : text;
  return fragment('log', paths.part(name, 'log'), content);
}

const sandboxPart = ({ isThere, rows }: ServerView['sandbox']) =>
  html`${!isThere && notice('bad', 'It runs as a process on this machine, with your permissions and without a sandbox. To isolate it, install it while Docker is running, or set "runtime": "docker".')}${rows.length > 0 && facts(rows)}`;

function remove(name: string): Html {
  return html`<p class="crumbs"><a href="${paths.server(name)}">${name}</a></p>
${heading(`Remove ${name}?`)}
<form class="card" method="post" action="${paths.action('remove', name)}">
<p>The hub stops the server and removes its entry from the config file. Clients no longer see its tools.</p>
<p><label><input type="checkbox" name="purge" value="true"> Also remove its image and its volumes. Its stored data is lost</label></p>
<p class="actions"><button class="danger" id="confirm">Remove ${name}</button><a class="button" href="${paths.server(name)}">Keep it</a></p>
</form>`;
}
