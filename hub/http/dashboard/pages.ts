import type { FastifyRequest } from 'fastify';
import type { CallSummary } from '#activity';
import { HubError, isObject } from '#core';
import {
  type CallFilter,
  type CallRow,
  type HealthView,
  type Html,
  activity,
  activityPartial,
  call,
  healthPartial,
  overview,
  paths,
  recentCalls,
  sessions,
  sessionsPartial,
  statsPartial,
  withQuery,
} from '#dashboard';
import { noticeOf } from './actions.ts';
import { hitRatesOf } from './cache-pages.ts';
import type { Given } from './given.ts';
import type { DashboardAnswers } from './needs.ts';
import { endpointOf, isHtmx, paramOf, queryOf, textAt } from './request.ts';

/** Number of calls on an activity page, and on the overview. */
const perPage = 50;
const recent = 10;
/** Maximum number of sessions on the page. */
const maxSessions = 200;
/** Number of calls that are searched for the options of the filters. */
const lookedThrough = 2_000;
/** Number of slices on the charts: ten minutes. */
const slices = 60;

type Names =
  | 'overview'
  | 'healthPartial'
  | 'statsPartial'
  | 'activity'
  | 'activityPartial'
  | 'call'
  | 'sessions'
  | 'sessionsPartial';

/** The pages overview, activity and sessions. */
export function pages(given: Given): Pick<DashboardAnswers, Names> {
  const { clock, page, part, redact, servers, usage, views } = given;

  async function health(request: FastifyRequest): Promise<HealthView> {
    const { rights } = given.visitorOf(request);
    const [{ answer }] = await Promise.all([given.health(), usage.look()]);
    return {
      status:
        answer['status'] === 'ok' || answer['status'] === 'down' ? answer['status'] : 'degraded',
      upSeconds: Number(answer['uptime_seconds']),
      sessions: Number(answer['sessions']),
      parts: Object.entries(isObject(answer['parts']) ? answer['parts'] : {}).map(partOf),
      servers: servers.all.map(server => views.row(server, rights)),
      now: clock.now(),
    };
  }

  function partOf([name, value]: readonly [string, unknown]): HealthView['parts'][number] {
    const { latency_ms: latencyMs, detail } = isObject(value) ? value : {};
    return {
      name,
      state: textAt(value, 'state'),
      backend: textAt(value, 'backend'),
      latencyMs: typeof latencyMs === 'number' ? latencyMs : undefined,
      detail: typeof detail === 'string' ? redact(detail) : undefined,
    };
  }

  const stats = async (): Promise<Html> =>
    statsPartial({
      slices: given.metrics.snapshot().recent.slice(-slices),
      hitRates: await hitRatesOf(given.promptHealth),
    });

  const rows = (filter: Parameters<typeof given.activity.list>[0], limit: number) =>
    given.activity.list(filter, limit).map(rowOf);

  function recently(request: FastifyRequest): Html {
    return recentCalls({
      calls: rows({}, recent),
      filter: noFilter,
      next: undefined,
      endpoint: endpointOf(request),
    });
  }

  function callsOf(request: FastifyRequest) {
    const filter = filterOf(request);
    const found = rows(wantedOf(filter), perPage + 1);
    const calls = found.slice(0, perPage);
    return {
      calls,
      filter,
      next: found.length > perPage ? calls.at(-1)?.id : undefined,
      endpoint: endpointOf(request),
    };
  }

  function choices() {
    const calls = given.activity.list({}, lookedThrough);
    const those = (pick: (one: CallSummary) => string | undefined) =>
      [...new Set(calls.flatMap(one => pick(one) ?? []))].sort();
    return {
      servers: servers.all.map(({ config }) => config.name),
      clients: those(({ client }) => client),
      outcomes: [
        ...new Set(['failed', 'ok', 'tool_error', 'error', ...those(({ outcome }) => outcome)]),
      ],
    };
  }

  function sessionsOf(request: FastifyRequest) {
    const all = given.router.sessions();
    return {
      sessions: all.slice(0, maxSessions).map(one => ({
        ...one,
        lastRequestAt: given.activity.list({ session: one.id }, 1)[0]?.at,
      })),
      total: all.length,
      now: clock.now(),
      endpoint: endpointOf(request),
    };
  }

  return {
    async overview(request, reply) {
      const main = overview(await health(request), await stats(), recently(request));
      return page(reply, {
        title: 'Overview',
        at: 'overview',
        main,
        events: paths.events,
        notice: noticeOf(request),
      });
    },
    healthPartial: async (request, reply) => part(reply, healthPartial(await health(request))),
    statsPartial: async (_request, reply) => part(reply, await stats()),
    async activity(request, reply) {
      return page(reply, {
        title: 'Activity',
        at: 'activity',
        main: activity(callsOf(request), choices()),
        events: paths.events,
      });
    },
    async activityPartial(request, reply) {
      if (queryOf(request, 'recent') !== '') return part(reply, recently(request));
      const view = callsOf(request);
      // So that the back button returns to the filtered list.
      if (isHtmx(request)) reply.header('hx-replace-url', withQuery(paths.activity, view.filter));
      return part(reply, activityPartial(view));
    },
    async call(request, reply) {
      const id = paramOf(request, 'id');
      const found = /^\d{1,15}$/.test(id) ? given.activity.find(Number(id)) : undefined;
      if (!found)
        throw new HubError(
          'HUB_CALL_UNKNOWN',
          `There is no record of the call ${id.slice(0, 20)}: newer calls have replaced it, or the hub was restarted`,
        );
      const text = (payload: typeof found.request) =>
        payload ? `${pretty(payload.text)}${payload.isCut ? '\n… the rest was not kept' : ''}` : '';
      const { rights } = given.visitorOf(request);
      const main = call({
        ...rowOf(found),
        rights,
        payloads:
          rights === 'owner'
            ? { request: text(found.request), reply: text(found.reply) }
            : undefined,
      });
      return page(reply, { title: `${found.name ?? found.method}`, at: 'activity', main });
    },
    async sessions(request, reply) {
      const main = sessions(sessionsOf(request));
      return page(reply, { title: 'Sessions', at: 'sessions', main, events: paths.events });
    },
    sessionsPartial: async (request, reply) => part(reply, sessionsPartial(sessionsOf(request))),
  };
}

const rowOf = (one: CallSummary): CallRow => ({ ...one, id: String(one.id) });

const noFilter: CallFilter = {
  server: '',
  client: '',
  session: '',
  tool: '',
  outcome: '',
  text: '',
  before: '',
};

function filterOf(request: FastifyRequest): CallFilter {
  const asked = (name: keyof CallFilter) => queryOf(request, name).trim();
  return {
    server: asked('server'),
    client: asked('client'),
    session: asked('session'),
    tool: asked('tool'),
    outcome: asked('outcome'),
    text: asked('text'),
    before: /^\d{1,15}$/.test(asked('before')) ? asked('before') : '',
  };
}

/** The filter without empty values. */
function wantedOf({ before, ...texts }: CallFilter) {
  const given = Object.entries(texts).filter(([, value]) => value !== '');
  return { ...Object.fromEntries(given), ...(before !== '' && { before: Number(before) }) };
}

/** Formats JSON. Returns other text, such as truncated JSON, unchanged. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    // Truncated JSON is shown as it is.
    return text;
  }
}
