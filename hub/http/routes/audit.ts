import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Audit, type AuditFilter, type AuditLine, createMatcher, parseLine } from '#audit';
import { errorCodeOf, isObject, shown } from '#core';
import { policyNameOf } from '#policy';
import type { RouteAdmission } from '../admission.ts';
import { administered } from '../guard.ts';
import type { Follow } from './events.ts';
import { invalid, readFlag, readQuery, readWhole } from './input.ts';

/** Fields of the audit line for requests to a route that changes something. */
export type RouteChange = {
  /** Name of the change, such as `server_restart`. */
  readonly action: string;
  /** Members of the query and the body that name the change. They contain no secrets. */
  readonly members?: readonly string[];
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent: audited with the method and the path, without members. `none`: the route changes nothing. */
    readonly change?: RouteChange | 'none';
  }
}

/** Returns the options of a route of administration that changes something. */
export const changing = (action: string, members: readonly string[] = []) =>
  ({ config: { scope: 'administer', change: { action, members } } }) as const;

const maxLimit = 500;
const defaultLimit = 100;
/** Maximum number of lines in an event. The newest are sent, with the number of dropped ones. */
const maxWaiting = 500;

const filters = ['client', 'server', 'tool', 'denied', 'since'] as const;

/** Adds `/audit`: the lines of the audit log, newest first, its verification, and a stream of new lines. */
export function auditRoutes(app: FastifyInstance, audit: Audit, follow: Follow): void {
  app.get('/audit', administered, async request => {
    const { before, limit, ...filter } = readQuery(request, [...filters, 'before', 'limit']);
    const page = {
      before: readWhole('before', before, { least: 1, most: Number.MAX_SAFE_INTEGER }),
      limit: readWhole('limit', limit, { least: 1, most: maxLimit }) ?? defaultLimit,
    };
    const { lines, next } = await audit.list(readFilter(filter), page);
    return { lines, next: next ?? null };
  });

  app.get('/audit/verify', administered, async () => describeReport(await audit.verify()));

  app.get('/audit/events', administered, async (request, reply) => {
    const { last, ...rest } = readQuery(request, [...filters, 'last']);
    const limit = readWhole('last', last, { least: 0, most: maxLimit }) ?? 0;
    const filter = readFilter(rest);
    const matches = createMatcher(filter);
    let waiting: AuditLine[] = [];
    let dropped = 0;
    let changed = () => {};
    using stack = new DisposableStack();
    // Subscribes before the last lines are read, so that no line is missing between them and the new ones.
    const heard = audit.written(bytes => {
      for (const text of bytes.toString().split('\n')) {
        const line = parseLine(text);
        if (line && matches(line)) waiting.push(line);
      }
      dropped += Math.max(0, waiting.length - maxWaiting);
      waiting = waiting.slice(-maxWaiting);
      if (waiting.length > 0) changed();
    });
    stack.use(heard);
    const { lines } = limit > 0 ? await audit.list(filter, { limit }) : { lines: [] };
    const lastSeq = lines[0]?.seq ?? 0;
    waiting = [...lines.toReversed(), ...waiting.filter(({ seq }) => seq > lastSeq)];
    const followed = follow(reply, {
      listen(notify) {
        changed = notify;
        return heard;
      },
      tell(events) {
        if (waiting.length > 0)
          events.send('lines', { lines: waiting, ...(dropped > 0 && { dropped }) });
        waiting = [];
        dropped = 0;
      },
    });
    stack.move();
    return followed;
  });
}

type Query = { readonly [name in (typeof filters)[number]]?: string };

function readFilter({ denied, since, ...others }: Query): AuditFilter {
  return { ...others, isDenied: readFlag('denied', denied), since: readTime(since) };
}

function readTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (Number.isFinite(time)) return time;
  throw invalid(`since: ${shown(text)} is not allowed: write a time such as 2026-01-31T12:00:00Z`);
}

const describeReport = ({ last, torn, ...report }: Awaited<ReturnType<Audit['verify']>>) => ({
  ...report,
  last: last ?? null,
  torn: torn ?? null,
});

/**
 * Audits each request that is not a GET to a route of administration, or to one that does what a tool does, before its
 * answer is sent. Includes routes that are added after this call.
 */
export function auditChanges(
  app: FastifyInstance,
  audit: Pick<Audit, 'recordChange'>,
  { principalOf }: Pick<RouteAdmission, 'principalOf'>,
): void {
  app.addHook('onRoute', route => {
    const { method, url, config, handler } = route;
    const change = config?.change ?? { action: `${String(method)} ${url}` };
    const isRecorded = config?.scope === 'administer' || config?.sameAs !== undefined;
    if (!isRecorded || method === 'GET' || change === 'none') return;
    const record = (request: FastifyRequest, outcome: string) =>
      audit.recordChange({
        action: change.action,
        principal: policyNameOf(principalOf(request)),
        target: targetOf(request),
        outcome,
        details: detailsOf(request, change),
      });
    route.handler = async function recorded(request, reply) {
      try {
        const answer: unknown = await handler.call(this, request, reply);
        record(request, reply.statusCode < 400 ? 'ok' : 'error');
        return answer;
      } catch (error) {
        record(request, errorCodeOf(error) ?? 'HUB_INTERNAL');
        throw error;
      }
    };
  });
}

/** Returns the parameters of the path, which name the object of the change. */
function targetOf({ params }: FastifyRequest): string | undefined {
  return isObject(params) ? Object.values(params).map(String).join('/') || undefined : undefined;
}

function detailsOf(
  { query, body }: FastifyRequest,
  { members = [] }: RouteChange,
): object | undefined {
  const found: Record<string, unknown> = {};
  for (const source of [query, body])
    for (const name of members) {
      const value = source instanceof URLSearchParams ? source.get(name) : valueIn(source, name);
      if (value !== undefined && value !== null) found[name] = value;
    }
  return Object.keys(found).length > 0 ? found : undefined;
}

const valueIn = (source: unknown, name: string): unknown =>
  isObject(source) ? source[name] : undefined;
