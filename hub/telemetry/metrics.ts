import type { MetricFamily, Sample } from './exposition.ts';
import {
  type Times,
  addTime,
  boundsSeconds,
  createRecentCalls,
  day,
  newTimes,
  quantileMs,
} from './histogram.ts';
import { createToolCalls } from './tool-calls.ts';

/** The measurements of one answered request. */
export type MeasuredCall = {
  readonly method: string;
  /** Name of the tool or prompt, or URI of the resource. */
  readonly name?: string | undefined;
  /** Undefined if the hub itself answered. */
  readonly server: string | undefined;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly at: number;
  /** Time from the arrival of the request to its answer, in milliseconds, with fractions. */
  readonly tookMs: number;
  readonly serverMs: number;
  /** `ok`, `tool_error`, `error`, or a HubError code. */
  readonly outcome: string;
};

export type Metrics = ReturnType<typeof createMetrics>;

type Needs = {
  readonly clock: { now(): number };
  /** Returns the names of all configured servers. Series of other servers are dropped. */
  readonly servers: () => readonly string[];
};

/** Maximum number of servers with series of their own. Calls to further servers count under the empty name. */
export const maxServers = 1_000;

/** Methods with their own label value. Others count as `other`, as clients can send any method. */
const knownMethods: ReadonlySet<string> = new Set(
  `completion/complete initialize logging/setLevel ping prompts/get prompts/list resources/list
   resources/read resources/subscribe resources/templates/list resources/unsubscribe server/discover
   tasks/cancel tasks/get tasks/list tasks/result tasks/update tools/call tools/list`.split(/\s+/),
);

/** Server label of requests that the hub answered itself. */
const hubItself = '';

type Cell = { readonly method: string; readonly outcome: string; count: number };

type Series = {
  /** Counters by method and outcome. The numbers of methods and outcomes are limited. */
  readonly counts: Map<string, Map<string, Cell>>;
  /** The counter used last, as consecutive calls usually have the same one. */
  last: Cell | undefined;
  readonly duration: Times;
  readonly overhead: Times;
};

/** Creates empty metrics. Counts are in preallocated arrays: recording a call allocates nothing. */
export function createMetrics({ clock, servers }: Needs) {
  const byServer = new Map<string, Series>();
  const toolCalls = createToolCalls();
  const recent = createRecentCalls();
  const today = createRecentCalls(day);

  function dropRemovedServers(): void {
    const configured = new Set(servers());
    for (const name of byServer.keys())
      if (name !== hubItself && !configured.has(name)) byServer.delete(name);
    toolCalls.keep(configured);
  }

  function seriesOf(server: string): Series {
    const known = byServer.get(server);
    if (known) return known;
    if (byServer.size >= maxServers) dropRemovedServers();
    if (byServer.size >= maxServers && server !== hubItself) return seriesOf(hubItself);
    const [duration, overhead] = [newTimes(), newTimes()];
    const series: Series = { counts: new Map(), last: undefined, duration, overhead };
    byServer.set(server, series);
    return series;
  }

  const samples = () =>
    [...byServer].flatMap(([server, { counts }]) =>
      [...counts].flatMap(([method, outcomes]) =>
        Array.from(outcomes, ([outcome, { count }]): Sample => {
          return { labels: { server, method, outcome }, value: count };
        }),
      ),
    );

  const histograms = (times: 'duration' | 'overhead') =>
    Array.from(byServer, ([server, { [times]: chosen }]) => {
      const { buckets, sum } = chosen;
      return { labels: { server }, bounds: boundsSeconds, counts: buckets, sum: sum / 1000 };
    });

  return {
    /** Records a call. `client` is the policy name of the principal. */
    record(call: MeasuredCall, client: string): void {
      const { method, server, at, tookMs, serverMs, outcome } = call;
      toolCalls.record(call, client);
      const series = seriesOf(server ?? hubItself);
      const { last, duration, overhead } = series;
      const cell =
        last?.method === method && last.outcome === outcome
          ? last
          : (series.last = cellOf(series, method, outcome));
      cell.count++;
      const bucket = addTime(duration, tookMs);
      addTime(overhead, Math.max(0, tookMs - serverMs));
      if (server === undefined || isList(method)) return;
      recent.record(at + tookMs, bucket, isError(outcome));
      today.record(at + tookMs, bucket, isError(outcome));
    },
    /** Returns the current values of all metrics. */
    families(): readonly MetricFamily[] {
      dropRemovedServers();
      return [
        {
          name: 'agenthub_calls_total',
          help: 'Answered client requests by server; the server is empty if the hub answered itself.',
          type: 'counter',
          samples: samples(),
        },
        toolCalls.family(),
        {
          name: 'agenthub_call_duration_seconds',
          help: 'Time from the arrival of a request to its answer.',
          type: 'histogram',
          series: histograms('duration'),
        },
        {
          name: 'agenthub_hub_overhead_seconds',
          help: 'Part of the call duration during which no server had the request: relaying, queueing, starting a server.',
          type: 'histogram',
          series: histograms('overhead'),
        },
      ];
    },
    snapshot() {
      dropRemovedServers();
      const named = [...byServer].filter(([server]) => server !== hubItself);
      return {
        /** Totals by server name, for servers that have been called. */
        servers: new Map(named.map(([server, series]) => [server, totals(series)])),
        /** Calls to servers in the last half hour, in intervals of ten seconds, the oldest first. */
        recent: recent.intervals(clock.now()),
        /** Calls to servers in the last day, in intervals of five minutes, the oldest first. */
        day: today.intervals(clock.now()),
      };
    },
  };
}

/** True for requests of lists. Snapshots leave these out: clients repeat them while a server is down. */
const isList = (method: string) => method.endsWith('/list');
const isError = (outcome: string) => outcome !== 'ok' && outcome !== 'tool_error';

function cellOf({ counts }: Series, method: string, outcome: string): Cell {
  const named = knownMethods.has(method) ? method : 'other';
  let outcomes = counts.get(named);
  if (!outcomes) counts.set(named, (outcomes = new Map()));
  let cell = outcomes.get(outcome);
  if (!cell) outcomes.set(outcome, (cell = { method: named, outcome, count: 0 }));
  return cell;
}

/** Returns the totals of one server since it was configured or the hub started, without requests of lists. */
function totals({ counts, duration, overhead }: Series) {
  let [calls, errors, toolErrors] = [0, 0, 0];
  for (const [method, outcomes] of counts) {
    if (isList(method)) continue;
    for (const [outcome, { count }] of outcomes) {
      calls += count;
      if (isError(outcome)) errors += count;
      if (outcome === 'tool_error') toolErrors += count;
    }
  }
  return {
    calls,
    /** Number of calls that ended with an error. Errors in the result of a tool are in `toolErrors`. */
    errors,
    toolErrors,
    /** Median duration in ms, estimated from the histogram. Undefined before the first call. */
    p50Ms: quantileMs(duration.buckets, 0.5),
    p95Ms: quantileMs(duration.buckets, 0.95),
    p99Ms: quantileMs(duration.buckets, 0.99),
    /** Median time that the hub added to a call, in ms, including time in queues and server starts. */
    overheadP50Ms: quantileMs(overhead.buckets, 0.5),
  };
}
