import type { FastifyInstance } from 'fastify';
import type { Activity, CallSummary } from '#activity';
import { HubError, type JsonObject } from '#core';
import { administered } from '../guard.ts';
import type { Follow } from './events.ts';
import { type Identified, readQuery, readWhole, snakeCased, timeOf } from './input.ts';

const maxLimit = 500;
const defaultLimit = 100;
/** Maximum number of calls in an event. The newest are sent. */
const maxSent = 200;

const filters = ['server', 'tool', 'client', 'session', 'outcome', 'text'] as const;

/** Adds `/activity`: the newest calls, a single call, and a stream of calls as they end. */
export function activityRoutes(app: FastifyInstance, activity: Activity, follow: Follow): void {
  app.get('/activity', async request => {
    const { before, limit, ...filter } = readQuery(request, [...filters, 'before', 'limit']);
    const olderThan = readWhole('before', before, allIds);
    const older = olderThan !== undefined && { before: olderThan };
    const most = readWhole('limit', limit, { least: 1, most: maxLimit }) ?? defaultLimit;
    await activity.restored();
    const calls = activity.list({ ...filter, ...older }, most);
    return { calls: calls.map(describeCall) };
  });

  app.get<Identified>('/activity/:id', administered, async request => {
    const { id } = request.params;
    await activity.restored();
    const found = activity.find(readWhole('id', id, allIds) ?? 0);
    if (!found)
      throw new HubError(
        'HUB_CALL_UNKNOWN',
        `there is no recorded call ${id}: only the last calls are recorded. GET /activity lists them`,
      );
    return {
      ...describeCall(found),
      request: found.request ? snakeCased(found.request) : null,
      reply: found.reply ? snakeCased(found.reply) : null,
    };
  });

  app.get('/activity/events', async (request, reply) => {
    const filter = readQuery(request, filters);
    let lastSent = activity.lastId;
    return follow(reply, {
      listen: activity.changed,
      tell(events) {
        if (activity.lastId === lastSent) return;
        const calls = activity.list({ ...filter, after: lastSent }, maxSent);
        lastSent = activity.lastId;
        if (calls.length > 0) events.send('calls', { calls: calls.map(describeCall) });
      },
    });
  });
}

const allIds = { least: 1, most: Number.MAX_SAFE_INTEGER };

function describeCall(call: CallSummary): JsonObject {
  const { id, at, method, name, server, session, client, tookMs, serverMs, outcome } = call;
  return {
    id,
    at: timeOf(at),
    method,
    name: name ?? null,
    server: server ?? null,
    session,
    client: client ?? null,
    took_ms: rounded(tookMs),
    server_ms: rounded(serverMs),
    outcome,
    request_bytes: call.requestBytes,
    reply_bytes: call.replyBytes,
  };
}

/** Rounds to a microsecond. */
const rounded = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000;
