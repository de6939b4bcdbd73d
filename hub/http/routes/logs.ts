import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HubError } from '#core';
import type { RunLogQuery, LogRun, Logs, SourceLine } from '#logs';
import type { Servers } from '#servers';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { type Follow, wantsEvents } from './events.ts';
import { invalid, readFlag, readQuery, readWhole, timeOf } from './input.ts';

type Needs = Pick<HttpNeeds, 'telemetry'> & {
  readonly servers: Pick<Servers, 'all' | 'get' | 'removed'>;
  readonly logs: Logs;
  readonly follow: Follow;
};

const usualLines = 200;
const maxLines = 10_000;
/** Maximum number of runs back in a query. No more runs are stored. */
const maxBack = 100;
/** Maximum number of lines in an event. The newest are sent, with the number of dropped ones. */
const maxFollowed = 500;

const parameters = ['server', 'hub', 'previous', 'back', 'lines', 'follow'] as const;

/** Adds `GET /logs`: the logs of servers and of the hub by runs, with times, and a stream of new lines. */
export function allLogRoutes(app: FastifyInstance, needs: Needs): void {
  const { logs } = needs;
  app.get('/logs', administered, async (request, reply) => {
    const { query, isFollowed, isAll } = readLogQuery(request, needs.servers);
    if (!isFollowed) {
      const lines = await logs.read(query);
      return { lines: lines.map(describeLine), ...(await runsOf(query, logs)) };
    }
    using stack = new DisposableStack();
    const followed = needs.follow(reply, stack.use(await openStream(query, isAll, needs)));
    stack.move();
    return followed;
  });
}

function readLogQuery(request: FastifyRequest, servers: Needs['servers']) {
  const { server, hub, previous, back, lines, follow } = readQuery(request, parameters);
  const isHubWanted = readFlag('hub', hub);
  const isPrevious = readFlag('previous', previous);
  const backWanted = readWhole('back', back, { least: 0, most: maxBack });
  if (isPrevious && backWanted !== undefined)
    throw invalid('previous: means back=1: write one of the two');
  const isFollowed = readFlag('follow', follow) || wantsEvents(request);
  const isAll = server === '*' || (server === undefined && !isHubWanted);
  const query: RunLogQuery = {
    servers: isAll ? allNames(servers) : namesIn(server, servers),
    isHubWanted,
    back: backWanted ?? (isPrevious ? 1 : 0),
    lines: readWhole('lines', lines, { least: 0, most: maxLines }) ?? usualLines,
  };
  if (isFollowed && query.back > 0) throw invalid('follow: only the newest run can be followed');
  return { query, isFollowed, isAll };
}

const allNames = ({ all }: Needs['servers']): readonly string[] =>
  all.filter(one => !one.isBuiltin).map(({ config }) => config.name);

const namesIn = (text: string | undefined, servers: Needs['servers']): readonly string[] =>
  [...new Set(text?.split(','))].map(name => servers.get(name).config.name);

/** Lists the runs, if the query names a single source. */
async function runsOf({ servers, isHubWanted }: RunLogQuery, logs: Logs) {
  const [server, ...others] = servers;
  const isOne = others.length === 0 && (server === undefined) === isHubWanted;
  return isOne ? { runs: (await logs.runs(server)).map(describeRun) } : {};
}

/** Opens a stream of lines. `isAll`: also those of servers that are added later. */
async function openStream(query: RunLogQuery, isAll: boolean, needs: Needs) {
  const { logs, telemetry, servers } = needs;
  const known = new Set(servers.all.map(({ config }) => config.name));
  const read = new Set<string | undefined>();
  let lines: SourceLine[] = [];
  let dropped = 0;
  let isFirst = true;
  let changed = () => {};
  const isWanted = ({ server }: SourceLine) =>
    read.has(server) || (isAll && server !== undefined && !known.has(server));
  const heard = logs.added(line => {
    if (!isWanted(line)) return;
    lines.push({ ...line, text: telemetry.redact(line.text) });
    if (lines.length > maxFollowed) {
      lines.shift();
      dropped++;
    }
    changed();
  });
  let first: readonly SourceLine[];
  try {
    first = await logs.read(query, server => read.add(server));
  } catch (cause) {
    heard[Symbol.dispose]();
    throw new HubError('HUB_INTERNAL', 'the stored logs cannot be read', { cause });
  }
  return {
    [Symbol.dispose]: () => heard[Symbol.dispose](),
    listen(listener: () => void) {
      changed = listener;
      return heard;
    },
    until: (over: () => void) =>
      servers.removed(({ config }) => {
        const isOnly = !isAll && query.servers.length === 1 && !query.isHubWanted;
        if (isOnly && query.servers.includes(config.name)) over();
      }),
    tell(events: { send(event: string, data: object): void }): void {
      const told = [...first, ...lines];
      // The first event is sent even without lines: later events have only new lines.
      if (isFirst || told.length > 0)
        events.send('lines', { lines: told.map(describeLine), ...(dropped > 0 && { dropped }) });
      isFirst = false;
      first = [];
      lines = [];
      dropped = 0;
    },
  };
}

/** Formats a line for the REST API. JSON omits undefined values. */
const describeLine = ({ at, run, text, server, isHubs, instance, level, event }: SourceLine) => ({
  at: timeOf(at),
  server,
  run,
  by: isHubs === true || server === undefined ? 'hub' : 'server',
  instance,
  level,
  event,
  text,
});

const describeRun = ({ run, beganAt, endedAt, how }: LogRun) => ({
  run,
  began_at: timeOf(beganAt),
  ended_at: endedAt === undefined ? null : timeOf(endedAt),
  how: how ?? null,
});
