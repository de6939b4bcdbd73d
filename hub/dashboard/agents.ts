import { basename } from 'node:path';
import type { AgentFile, AgentView, Agents } from '#agents';
import { HubError } from '#core';
import { policyNameOf } from '#policy';
import { answerOf, having, noticeOf } from './actions.ts';
import { conversationPart } from './agent-conversation.ts';
import { createLiveTurns } from './agent-turns.ts';
import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { ago, bytes, count, moment } from './format.ts';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import {
  type Rights,
  type Tone,
  actionButton,
  badge,
  empty,
  facts,
  failed,
  fragment,
  heading,
  table,
} from './pieces.ts';

type Needs = {
  readonly hub: Pick<PageNeeds['hub'], 'agents'>;
  readonly system: { readonly clock: { readonly now: () => number } };
};

/** A message that was not accepted, with the reason. */
type SentBack = { readonly id: string; readonly message: string; readonly problem: string };

/** Maximum number of messages on a page, the newest ones; `maxFiles` is that of files. */
const maxMessages = 50;
const maxFiles = 200;

const frame = { at: 'agents', events: paths.events } as const;

/** Creates the list of agents, and the page of each agent: its conversation, its files, and its permissions. */
export function agentPages({ hub: { agents }, system: { clock } }: Needs) {
  const turns = createLiveTurns(agents?.events);

  const withAgents = having(agents, noAgents);

  const list = ({ rights }: { readonly rights: Rights }) =>
    fragment('agents', `${paths.agents}-partial`, agentList(agents, rights, clock.now()), 'agent');

  const listPage = ({ visitor }: DashboardRequest, notice?: Html, sentBack?: SentBack) => ({
    ...frame,
    title: 'Agents',
    main: html`${heading('Agents')}
<p class="lead">Each is a conversation with a model that has tools and files, in a container without network and without keys.</p>
${list(visitor)}
${visitor.rights === 'owner' && agents && !agents.refusal && newForm(sentBack)}`,
    notice,
  });

  async function conversation(all: Agents, { param, signal }: DashboardRequest): Promise<Html> {
    const id = param('id');
    const { current } = all.get(id);
    const request = { count: maxMessages + 1, withTools: true };
    const { messages, waiting, error } = await all.messages(id, request, signal);
    const content = html`${messages.length > maxMessages && html`<p class="note">The newest ${maxMessages} messages. <code>agenthub agent logs ${id}</code> prints more.</p>`}
${conversationPart({
  messages: messages.slice(-maxMessages),
  waiting,
  live: turns.of(id),
  isWorking: current !== undefined,
  error: error && `${error.message} (${error.code})`,
})}`;
    return fragment('conversation', paths.agentPart(id, 'conversation'), content, 'agent');
  }

  const state = (view: AgentView) =>
    fragment('agent', paths.agentPart(view.id, 'state'), stateOf(view, clock.now()));

  async function files(all: Agents, { param }: DashboardRequest): Promise<Html> {
    const id = param('id');
    const content = fileList(id, await all.files.list(id));
    return fragment('files', paths.agentPart(id, 'files'), content);
  }

  async function page(all: Agents, request: DashboardRequest, notice?: Html, sentBack?: SentBack) {
    const view = all.get(request.param('id'));
    const main = html`<p class="crumbs"><a href="${paths.agents}">Agents</a></p>
${heading(view.id, html`<div class="actions"><a class="button danger" id="remove" href="${paths.agentRemoval(view.id)}">Remove…</a></div>`)}
${state(view)}
<section aria-labelledby="messages"><h2 id="messages">Conversation</h2>
${await conversation(all, request)}
${messageForm(view.id, sentBack)}</section>
<section aria-labelledby="workspace"><h2 id="workspace">Files</h2>
${await files(all, request)}</section>`;
    return { ...frame, title: view.id, main, notice };
  }

  /**
   * Sends a message and redirects to the agent's page. If the message is not accepted, returns the form with its text.
   */
  async function send(
    all: Agents,
    request: DashboardRequest,
    id: string,
    back: (sentBack: SentBack) => Promise<DashboardAnswer>,
  ): Promise<DashboardAnswer> {
    const message = request.form.get('message') ?? '';
    try {
      await all.send(id, message, policyNameOf(request.principal()));
      return { redirect: paths.agent(id) };
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      return await back({ id, message, problem: error.message });
    }
  }

  return {
    async agents(request) {
      return { page: listPage(request, noticeOf(request)) };
    },
    agentsPartial: async ({ visitor }) => ({ part: list(visitor) }),
    agent: withAgents(async (all, request) => ({
      page: await page(all, request, noticeOf(request)),
    })),
    agentStatePartial: withAgents(async (all, { param }) => ({
      part: state(all.get(param('id'))),
    })),
    agentConversationPartial: withAgents(async (all, request) => ({
      part: await conversation(all, request),
    })),
    agentFilesPartial: withAgents(async (all, request) => ({ part: await files(all, request) })),
    agentFile: withAgents(async (all, { param }) => {
      const path = param('*');
      const content = await all.files.open(param('id'), path);
      return { download: { name: basename(path), content } };
    }),
    beginAgent: withAgents(async (all, request) => {
      const id = (request.form.get('id') ?? '').trim();
      return await send(all, request, id, async sentBack => ({
        page: listPage(request, undefined, sentBack),
        status: 400,
      }));
    }),
    sendToAgent: withAgents(async (all, request) => {
      const { id } = all.get(request.param('id'));
      return await send(all, request, id, async sentBack => ({
        page: await page(all, request, undefined, sentBack),
        status: 400,
      }));
    }),
    cancelMessage: withAgents(async (all, request) => {
      const id = request.param('id');
      await all.cancel(id, request.param('message'));
      return answerOf(request, { done: 'agent-cancel', about: id, page: paths.agent(id) });
    }),
    stopAgent: withAgents(async (all, request) => {
      const id = request.param('id');
      await all.stop(id);
      return answerOf(request, { done: 'agent-stop', about: id, page: paths.agent(id) });
    }),
    confirmRemoveAgent: withAgents(async (all, { param }) => {
      const { id } = all.get(param('id'));
      return { page: { ...frame, title: `Remove ${id}`, main: removal(id) } };
    }),
    removeAgent: withAgents(async (all, request) => {
      const id = request.param('id');
      await all.remove(id);
      return answerOf(request, { done: 'remove', about: id, page: paths.agents });
    }),
  } satisfies Handlers;
}

const noAgents = failed(409, 'No agents', 'This hub has no agents.');

const tones: Readonly<Record<AgentView['status'], Tone>> = {
  running: 'busy',
  idle: 'good',
  stopped: 'idle',
};

const statusBadge = ({ status }: AgentView): Html => badge(tones[status], status);

function agentList(agents: Agents | undefined, rights: Rights, now: number): Html {
  if (!agents) return empty('This hub has no agents.');
  if (agents.refusal) return empty('No agents here.', html`<p>${agents.refusal.message}</p>`);
  const all = agents.list().toSorted((a, b) => b.lastActivity - a.lastActivity);
  if (all.length === 0)
    return empty(
      'No agent yet.',
      html`<p><code>agenthub agent send researcher "Write primes.py and run it."</code> creates one.</p>`,
    );
  return table('Agents', all, [
    [
      'Agent',
      ({ id }) =>
        rights === 'owner' ? html`<a id="agent-${id}" href="${paths.agent(id)}">${id}</a>` : id,
    ],
    ['Status', statusBadge],
    ['Model', ({ model }) => model ?? 'the default'],
    ['Waiting', ({ queued }) => count(queued), 'number'],
    ['Last activity', ({ lastActivity }) => ago(lastActivity, now)],
  ]);
}

function stateOf(view: AgentView, now: number): Html {
  const { id, usage, settings, current, why, containerId } = view;
  const { grants, budget } = settings;
  const { network } = grants;
  const cancel =
    current &&
    actionButton({
      label: 'Cancel',
      about: 'the message under way',
      path: paths.messageCancel(id, current.messageId),
      id: 'cancel',
    });
  const stop =
    view.status !== 'stopped' &&
    actionButton({ label: 'Stop', about: id, path: paths.action('agent-stop', id), id: 'stop' });
  return html`<div class="card"><div class="heading">${statusBadge(view)}<span class="note">${current?.doing}</span><div class="actions">${cancel}${stop}</div></div>
${why !== undefined && html`<p class="notice">${why}</p>`}
${facts([
  ['Model', view.model ?? 'the default of the hub'],
  [
    'Tokens',
    `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out, in ${count(usage.model_calls)} model calls`,
  ],
  [
    'Budget',
    `${count(budget.tokensPerHour)} tokens an hour; ${count(budget.callsPerTurn)} model calls and ${count(budget.stepsPerTurn)} steps a turn`,
  ],
  ['Tools of the hub', listed(grants.tools)],
  ['Whole servers', listed(grants.servers)],
  ['Agents it may ask', listed(grants.agents)],
  ['Tools from its files', grants.loadTool ? 'may be loaded' : 'no'],
  ['Network', typeof network === 'string' ? network : `only ${network.allow.join(', ')}`],
  ['Container', containerId?.slice(0, 12) ?? 'none'],
  ['Last activity', ago(view.lastActivity, now)],
])}
<p class="note">Change these with <code>agenthub agent configure ${id}</code>.</p></div>`;
}

const listed = (names: readonly string[]): string => names.join(', ') || 'none';

/**
 * Returns the id of a file's element. Contains no quotes, because htmx puts the focused element's id into a selector.
 */
const fileIdOf = (path: string) => `file-${encodeURIComponent(path).replaceAll("'", '%27')}`;

function fileList(id: string, files: readonly AgentFile[]): Html {
  if (files.length === 0) return empty('Its workspace is empty.');
  return html`${table('Files of the workspace', files.slice(0, maxFiles), [
    [
      'File',
      ({ path }) => html`<a id="${fileIdOf(path)}" href="${paths.agentFile(id, path)}">${path}</a>`,
    ],
    ['Size', file => bytes(file.bytes), 'number'],
    ['Changed', ({ changedAt }) => moment(changedAt, 'date')],
  ])}${files.length > maxFiles && html`<p class="note">The first ${maxFiles} of ${count(files.length)}.</p>`}`;
}

const problemOf = (sentBack: SentBack | undefined): Html | undefined =>
  sentBack && html`<p class="notice bad" role="alert" id="problem">${sentBack.problem}</p>`;

const messageForm = (id: string, sentBack?: SentBack): Html =>
  html`<form class="card" method="post" action="${paths.agent(id)}/messages">${problemOf(sentBack)}
<p><label for="message">Message</label><textarea id="message" name="message" required>${sentBack?.message}</textarea></p>
<p><button class="primary" id="send">Send</button></p></form>`;

const newForm = (sentBack?: SentBack): Html =>
  html`<section aria-labelledby="new"><h2 id="new">New agent</h2>
<form class="card" method="post" action="${paths.agents}">${problemOf(sentBack)}
<p><label for="id">Name</label><input id="id" name="id" value="${sentBack?.id}" required autocomplete="off" spellcheck="false" aria-describedby="id-said"><span class="note" id="id-said">Lowercase letters, digits and -, at most 63.</span></p>
<p><label for="message">Message</label><textarea id="message" name="message" required>${sentBack?.message}</textarea></p>
<p><button class="primary" id="send">Send</button></p></form></section>`;

const removal = (id: string): Html =>
  html`<p class="crumbs"><a href="${paths.agents}">Agents</a></p>
${heading(`Remove ${id}`)}
<form class="card" method="post" action="${paths.action('agent-remove', id)}">
<p>Its conversation and all files of its workspace are deleted, and cannot be brought back.</p>
<div class="actions"><button class="danger" id="confirm">Remove ${id}</button><a class="button" id="back" href="${paths.agent(id)}">Keep it</a></div></form>`;
