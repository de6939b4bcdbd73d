import type { CallSummary } from '#activity';
import {
  type Clock,
  HubError,
  type JsonObject,
  isJsonObject,
  isObject,
  tryParseExactly,
  waitAtMost,
} from '#core';
import type { Server } from '#servers';
import type { ToolStates } from '#tools';
import { outcomeBadge } from './activity.ts';
import type { DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { bytes, duration, moment } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { alert, empty, fragment, heading, notice, payload, table } from './pieces.ts';
import { type GivenValues, argumentsOf, valuesFor } from './tool-arguments.ts';
import { fieldsOf } from './tool-fields.ts';
import { toolForm } from './tool-form.ts';
import { answerForm, lostRun, runPart } from './tool-run.ts';
import { type ToolRun, createToolRuns } from './tool-runs.ts';

/** Time in ms that the response to a form waits for the end of the call. After it, the page follows the call. */
const quickMs = 500;
/** Interval in seconds at which a page without JavaScript reloads to follow a call. */
const followSeconds = 2;
const maxHistory = 10;
/** Maximum size of a definition on a page, in bytes. Redacting one of several MB would block the hub for seconds. */
const maxDefinition = 2 ** 20;
/** Number of recent calls of the server that are searched for those of the tool. */
const lookedThrough = 500;

type Needs = Pick<PageNeeds, 'servers' | 'hub' | 'changes' | 'telemetry' | 'views'> & {
  readonly router: Pick<PageNeeds['router'], 'open' | 'describeTool'>;
  readonly system: Pick<PageNeeds['system'], 'newId'> & {
    readonly clock: Pick<Clock, 'after' | 'monotonic' | 'now'>;
  };
};

/** Creates the page of a tool: a form to call it, its running calls, and earlier ones. */
export function toolPages({ servers, router, hub, changes, telemetry, views, system }: Needs) {
  const { redact, activity } = telemetry;
  const { clock } = system;
  const runs = createToolRuns({ router, version: hub.version, ...system });
  runs.changed(() => changes.note('run'));
  const shownRun = (run: ToolRun, { endpoint }: DashboardRequest) =>
    runPart(run, { redact, endpoint, needsToken: hub.access.needsToken(), now: clock.now() });

  async function pageOf(view: ToolView, request: DashboardRequest, run?: ToolRun) {
    const states = (await views.costs.get()).get(view.server);
    const state = states?.tools.find(({ name }) => name === view.name);
    const isRunning = run?.answer === undefined && run !== undefined;
    return {
      title: view.name,
      at: 'overview',
      main: tool(
        { ...view, whyOff: whyOff(state) },
        historyOf(view),
        run && shownRun(run, request),
      ),
      events: withQuery(paths.events, { server: view.server }),
      ...(isRunning && { reloadSeconds: followSeconds }),
    } as const;
  }

  /** Returns the last calls of the tool by all clients, under the server's own name for it and its name on `/mcp`. */
  function historyOf({ server, name, bytes }: ToolView): readonly CallSummary[] {
    const known = new Map<string | undefined, boolean>([[name, true]]);
    const isTool = (called = '') => {
      const isKnown =
        known.get(called) ?? router.describeTool('all', called)?.equals(bytes) ?? false;
      known.set(called, isKnown);
      return isKnown;
    };
    return activity
      .list({ server }, lookedThrough)
      .filter(call => call.method === 'tools/call' && isTool(call.name))
      .slice(0, maxHistory);
  }

  /** Returns the initial values of the form: the arguments of an earlier call, if the query names one. */
  function givenIn({ query }: DashboardRequest, view: ToolView, run?: ToolRun): GivenValues {
    const from = /^\d{1,15}$/.test(query('from')) ? Number(query('from')) : 0;
    const args = run?.args ?? (from > 0 ? argumentsIn(activity.find(from)?.request?.text) : {});
    return valuesFor(view.fields, args);
  }

  async function begin(server: Server, view: ToolView, request: DashboardRequest) {
    const args = argumentsOf(view.fields, view.given);
    const { id, done } = runs.begin(server, view.name, args, request.principal());
    const isAsked = Promise.withResolvers<void>();
    using _heard = runs.changed(() => runs.get(id).question && isAsked.resolve());
    await waitAtMost(quickMs, Promise.race([done, isAsked.promise]), clock);
    return runs.get(id);
  }

  const answerWith = (run: ToolRun, request: DashboardRequest) =>
    request.isHtmx
      ? { part: shownRun(run, request) }
      : { redirect: paths.tool(run.server, run.tool, { run: run.id }) };

  return {
    async tool(request) {
      const id = request.query('run');
      const run = id === '' ? undefined : runs.get(id);
      const view = toolView(servers.get(request.param('name')), request, redact);
      if (request.query('part') === 'calls') return { part: historyPart(view, historyOf(view)) };
      return { page: await pageOf({ ...view, given: givenIn(request, view, run) }, request, run) };
    },
    async callTool(request) {
      const server = servers.get(request.param('name'));
      const view = toolView(server, request, redact);
      const { server: place, name, given } = view;
      if (given.has('more'))
        return request.isHtmx
          ? { part: toolForm(view, { path: paths.tool(place, name), name }) }
          : { page: await pageOf(view, request) };
      try {
        const run = await begin(server, view, request);
        if (request.isHtmx) return { part: shownRun(run, request) };
        return run.answer ? { page: await pageOf(view, request, run) } : answerWith(run, request);
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        const problem = alert(redact(error.message));
        if (request.isHtmx) return { part: problem };
        return { page: { ...(await pageOf(view, request)), notice: problem }, status: 400 };
      }
    },
    async runPartial(request) {
      const run = runs.find(request.query('run'));
      // Replaces the call on its page, which would show it as running for ever.
      return { part: run ? shownRun(run, request) : lostRun };
    },
    async cancelRun(request) {
      const id = request.param('id');
      runs.cancel(id);
      return answerWith(runs.get(id), request);
    },
    async answerRun(request) {
      const id = request.param('id');
      try {
        const answer = answerForm(runs.get(id), new Map(request.form));
        if (answer) runs.answer(id, answer);
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        const headers = { 'hx-retarget': '#notice', 'hx-reswap': 'innerHTML' };
        if (request.isHtmx) return { part: alert(redact(error.message)), headers };
      }
      return answerWith(runs.get(id), request);
    },
  } satisfies Handlers;
}

type ToolView = ReturnType<typeof toolView>;

/** Returns the view of a tool before a call. Throws HUB_NAME_UNKNOWN, and HUB_REQUEST_INVALID for a large definition. */
function toolView(
  server: Server,
  { query, form }: DashboardRequest,
  redact: (text: string) => string,
) {
  const name = query('name');
  const item = server.listing.tool.find(({ key }) => key === name);
  if (!item)
    throw new HubError(
      'HUB_NAME_UNKNOWN',
      `${server.config.name} has no tool ${JSON.stringify(name.slice(0, 200))}. Its page lists those that it has`,
      { data: { server: server.config.name } },
    );
  if (item.bytes.length > maxDefinition)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `the definition of ${JSON.stringify(name.slice(0, 200))} has ${bytes(item.bytes.length)}: a page shows up to ${bytes(maxDefinition)}. "agenthub call" calls the tool`,
      { data: { server: server.config.name } },
    );
  const given: GivenValues = new Map(form);
  const { title, description, inputSchema, outputSchema, annotations } = parsed(item.bytes, redact);
  return {
    server: server.config.name,
    name,
    bytes: item.bytes,
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    isDestructive: isObject(annotations) && annotations['destructiveHint'] === true,
    fields: fieldsOf(inputSchema),
    inputSchema: JSON.stringify(inputSchema, undefined, 2) ?? '',
    outputSchema:
      outputSchema === undefined ? undefined : JSON.stringify(outputSchema, undefined, 2),
    given,
  };
}

/** Parses a list item and redacts its texts. */
function parsed(bytes: Buffer, redact: (text: string) => string) {
  const redacted = (_key: string, inside: unknown) =>
    typeof inside === 'string' ? redact(inside) : inside;
  const value: unknown = JSON.parse(bytes.toString(), redacted);
  return isObject(value) ? value : {};
}

/** Returns the arguments in a recorded request; empty if the request was not recorded completely. */
function argumentsIn(request: string | undefined): JsonObject {
  const message = request === undefined ? undefined : tryParseExactly(request);
  const params = isObject(message) ? message['params'] : undefined;
  const args = isObject(params) ? params['arguments'] : undefined;
  return isJsonObject(args) ? args : {};
}

/** Says why no client sees the tool, and its calls are refused; undefined if clients see it. */
function whyOff(state: ToolStates['tools'][number] | undefined): string | undefined {
  if (state?.isHeld) return 'It is hidden until its changed definition is accepted.';
  const { hiddenBy } = state ?? {};
  return hiddenBy && `It is turned off by ${hiddenBy} of the config: its calls are refused.`;
}

function tool(
  view: ToolView & { readonly whyOff: string | undefined },
  history: readonly CallSummary[],
  run: Html | undefined,
): Html {
  const { server, name, title, description } = view;
  return html`<p class="crumbs"><a href="${paths.server(server)}">${server}</a></p>
${heading(name)}
${title !== undefined && title !== name && html`<p class="lead">${title}</p>`}
${description !== undefined && html`<p class="said">${description}</p>`}
${view.whyOff !== undefined && notice('bad', view.whyOff)}
<div class="columns">
<section aria-labelledby="try"><h2 id="try">Arguments</h2>${view.isDestructive && notice('bad', 'This tool may change or delete data, according to its annotations.')}${toolForm(view, { path: paths.tool(server, name), name })}</section>
<section aria-labelledby="result-title"><h2 id="result-title">Result</h2><div id="result" role="status">${run ?? html`<p class="note">The result appears here.</p>`}</div></section>
</div>
<section aria-labelledby="history"><div class="heading"><h2 id="history">Latest calls</h2><a href="${withQuery(paths.activity, { server, text: name })}">All its calls</a></div>${historyPart(view, history)}</section>
<section aria-labelledby="schema"><h2 id="schema">Schema</h2><details><summary>Arguments</summary>${payload(view.inputSchema, 'Schema of the arguments')}</details>
${view.outputSchema !== undefined && html`<details><summary>Result</summary>${payload(view.outputSchema, 'Schema of the result')}</details>`}</section>`;
}

function historyPart({ server, name }: ToolView, history: readonly CallSummary[]): Html {
  const from = paths.tool(server, name, { part: 'calls' });
  return fragment('calls-of-tool', from, historyTable({ server, name }, history), 'activity');
}

function historyTable(
  { server, name }: Pick<ToolView, 'server' | 'name'>,
  history: readonly CallSummary[],
): Content {
  if (history.length === 0) return empty('No calls yet.');
  const filledIn = (id: number) => paths.tool(server, name, { from: String(id) });
  return table(
    'Latest calls',
    history,
    [
      ['Time', ({ id, at }) => html`<a id="call-${id}" href="${paths.call(id)}">${moment(at)}</a>`],
      ['Client', ({ client }) => client],
      ['Outcome', ({ outcome }) => outcomeBadge(outcome)],
      ['Took', ({ tookMs }) => duration(tookMs), 'number'],
      [
        'Arguments',
        ({ id }) =>
          html`<a id="again-${id}" href="${filledIn(id)}" aria-label="use again: the arguments of call ${id}">use again</a>`,
      ],
    ],
    'dense',
  );
}
