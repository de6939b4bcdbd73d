import type { ToolStates } from '#tools';
import { brief, count } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { empty, fragment, table } from './pieces.ts';
import { type ListedItem, type ServerView, toolsPerPage } from './server-view.ts';

/** Kind of list that a server offers. Each has a tab on its page. */
export type OfferTab = 'tools' | 'resources' | 'prompts';

/** Shows one list of a server. `states` has switches and costs of its tools, and is undefined until they are known. */
export function offersPart(view: ServerView, tab: OfferTab, states: ToolStates | undefined): Html {
  const { name, offers } = view;
  const content = {
    tools: () => toolsPart(view, states),
    resources: () => offerTable('Resources', offers.resources, offers.moreResources),
    prompts: () => offerTable('Prompts', offers.prompts, offers.morePrompts),
  }[tab]();
  const from = { tab: tab === 'tools' ? undefined : tab, from: offers.from || undefined };
  return fragment('offers', withQuery(paths.part(name, 'offers'), from), content);
}

function toolsPart(view: ServerView, states: ToolStates | undefined): Content {
  const { state, offers, isEnabled } = view;
  const { tools, toolCount } = offers;
  if (toolCount === 0)
    return empty(
      state === 'running'
        ? 'It offers no tools.'
        : isEnabled
          ? 'Start the server to see its tools.'
          : 'It is disabled in the config.',
    );
  const off = states?.tools.filter(tool => !tool.isEnabled).length ?? 0;
  const cost = states?.tokens;
  const said = [
    cost !== undefined && `${count(cost)} tokens in the context of each client`,
    off > 0 && `${count(off)} off`,
  ].filter(text => text !== false);
  return html`${said.length > 0 && html`<p class="note">${said.join(' · ')}</p>`}${toolTable(view, tools, states)}${toolPager(view)}`;
}

function toolTable(
  { name: server, rights, runsOn }: ServerView,
  tools: readonly ListedItem[],
  states: ToolStates | undefined,
): Html {
  const byName = new Map(states?.tools.map(tool => [tool.name, tool]));
  const canSwitch = states && rights === 'owner' && runsOn !== 'hub';
  const costs = [
    'Tokens',
    ({ name }: ListedItem) => {
      const tokens = byName.get(name)?.tokens;
      return tokens === undefined ? undefined : count(tokens);
    },
    'number',
  ] as const;
  const switches = [
    'On',
    ({ name }: ListedItem) => switchOf(server, name, byName.get(name)),
  ] as const;
  return table(
    'Tools',
    tools,
    [
      [
        'Tool',
        ({ name }) => html`<a id="tool-${name}" href="${paths.tool(server, name)}">${name}</a>`,
      ],
      ['Description', item => html`<div class="state"><span>${saysOf(item)}</span></div>`],
      ...(states ? [costs] : []),
      ...(canSwitch ? [switches] : []),
      [
        'Try',
        ({ name }) =>
          html`<a class="button" id="try-${name}" aria-label="Try it: ${name}" href="${paths.tool(server, name)}">Try it</a>`,
      ],
    ],
    'dense',
  );
}

function switchOf(
  server: string,
  tool: string,
  state: ToolStates['tools'][number] | undefined,
): Content {
  if (!state) return undefined;
  const { isEnabled, isHeld, hiddenBy } = state;
  const path = paths.action('tool-switch', server);
  const title = isHeld
    ? 'Hidden until its changed definition is accepted'
    : (hiddenBy ?? (isEnabled ? 'Clients see it' : 'No client sees it'));
  return html`<form method="post" action="${path}" hx-post="${path}" hx-target="#notice" hx-sync="this:drop"><input type="hidden" name="tool" value="${tool}"><button class="switch" role="switch" aria-checked="${String(isEnabled)}" id="switch-${tool}" name="enable" value="${isEnabled ? 'no' : 'yes'}" aria-label="${tool}" title="${title}"></button></form>`;
}

function offerTable(caption: string, offers: readonly ListedItem[], more: number): Content {
  if (offers.length === 0) return empty(`It offers no ${caption.toLowerCase()}.`);
  return html`${table(caption, offers, [
    ['Name', ({ name }) => html`<code>${name}</code>`],
    ['Description', saysOf],
  ])}${more > 0 && html`<p class="note">and ${more} more</p>`}`;
}

const saysOf = ({ title, description }: ListedItem): Content => brief(description ?? title ?? '');

function toolPager({ name, offers: { from, toolCount } }: ServerView): Content {
  const link = (text: string, at: number) =>
    html`<a id="tools-from-${at}" href="${withQuery(paths.server(name), { from: at || undefined })}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages of tools">${from > 0 && link('Before', Math.max(0, from - toolsPerPage))}${from + toolsPerPage < toolCount && link('More', from + toolsPerPage)}</nav>`;
}
