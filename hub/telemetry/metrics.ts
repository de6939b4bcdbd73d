import type { MetricFamily, MetricLabels, Sample } from './exposition.ts';
import { boundsSeconds, bucketCount, bucketOf, quantileMs } from './histogram.ts';
import { type Interval, createRecentCalls } from './recent-calls.ts';

/** The measurements of one answered request. */
export type MeasuredCall = {
  readonly method: string;
  /** Undefined if the hub answered without a server. */
  readonly server: string | undefined;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly at: number;
  /** From arrival to answer, in milliseconds, with fractions. */
  readonly tookMs: number;
  readonly serverMs: number;
  /** `ok`, `tool_error`, `error`, or a HubError code. */
  readonly outcome: string;
};

/** Totals of one server since it was configured or the hub started. */
export type ServerCalls = {
  readonly calls: number;
  /** Calls that ended with an error. Errors that a tool reports in its result are counted in `toolErrors`. */
  readonly errors: number;
  readonly toolErrors: number;
  /** Estimated from histogram buckets. Undefined before the first call. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Median time that the hub added to a call, in ms, including time in queues and server starts. */
  readonly overheadP50Ms: number | undefined;
};

export type MetricsSnapshot = {
  /** By server name; only servers that have been called. */
  readonly servers: ReadonlyMap<string, ServerCalls>;
  /** All calls sent to servers in the last half hour, in intervals of ten seconds, the oldest first. */
  readonly recent: readonly Interval[];
};

/** Counts calls and their durations. */
export interface Metrics {
  record(call: MeasuredCall): void;
  /** The current values, as metric families. */
  families(): readonly MetricFamily[];
  snapshot(): MetricsSnapshot;
}

export type MetricsNeeds = {
  readonly clock: { now(): number };
  /** The names of all configured servers. The series of other servers are dropped. */
  readonly servers: () => readonly string[];
};

/** Bound for servers with series of their hubItself. Calls to further servers count under the empty name. */
export const maxServers = 1_000;

/** Methods with a label of their hubItself. All others count as `other`, because clients choose the method. */
const knownMethods: ReadonlySet<string> = new Set([
  'completion/complete',
  'initialize',
  'logging/setLevel',
  'ping',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'server/discover',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tools/call',
  'tools/list',
]);

/** The empty server name: requests that the hub answered itself. */
const hubItself = '';

type Cell = { readonly method: string; readonly outcome: string; count: number };

type Series = {
  /** By method and outcome. Both sets are bounded. */
  readonly counts: Map<string, Map<string, Cell>>;
  /** The cell counted last, because consecutive calls mostly share it. */
  last: Cell | undefined;
  readonly duration: Times;
  readonly overhead: Times;
};

type Times = { readonly buckets: Float64Array; sumMs: number };

/** Creates empty metrics. Counts are in preallocated arrays: recording a call allocates nothing. */
export function createMetrics({ clock, servers }: MetricsNeeds): Metrics {
  const byServer = new Map<string, Series>();
  const recent = createRecentCalls();

  function dropRemovedServers(): void {
    const configured = new Set(servers());
    for (const name of byServer.keys())
      if (name !== hubItself && !configured.has(name)) byServer.delete(name);
  }

  function seriesOf(server: string): Series {
    const known = byServer.get(server);
    if (known) return known;
    if (byServer.size >= maxServers) dropRemovedServers();
    if (byServer.size >= maxServers && server !== hubItself) return seriesOf(hubItself);
    const series: Series = {
      counts: new Map(),
      last: undefined,
      duration: newTimes(),
      overhead: newTimes(),
    };
    byServer.set(server, series);
    return series;
  }

  function samples(): readonly Sample[] {
    return [...byServer].flatMap(([server, { counts }]) =>
      [...counts].flatMap(([method, outcomes]) =>
        [...outcomes].map(([outcome, { count }]) => ({
          labels: { server, method, outcome },
          value: count,
        })),
      ),
    );
  }

  const histograms = (choose: (series: Series) => Times) =>
    [...byServer].map(([server, series]) => histogram({ server }, choose(series)));

  return {
    record({ method, server, at, tookMs, serverMs, outcome }) {
      const series = seriesOf(server ?? hubItself);
      const { last, duration, overhead } = series;
      const cell =
        last?.method === method && last.outcome === outcome
          ? last
          : (series.last = cellOf(series, method, outcome));
      cell.count++;
      const bucket = add(duration, tookMs);
      add(overhead, Math.max(0, tookMs - serverMs));
      if (server !== undefined) recent.record(at + tookMs, bucket, isError(outcome));
    },
    families() {
      dropRemovedServers();
      return [
        {
          name: 'agenthub_calls_total',
          help: 'Answered client requests by server; the server is empty if the hub answered itself.',
          type: 'counter',
          samples: samples(),
        },
        {
          name: 'agenthub_call_duration_seconds',
          help: 'Time from the arrival of a request to its answer.',
          type: 'histogram',
          series: histograms(({ duration }) => duration),
        },
        {
          name: 'agenthub_hub_overhead_seconds',
          help: 'Part of the call duration during which no server had the request: relaying, queueing, starting a server.',
          type: 'histogram',
          series: histograms(({ overhead }) => overhead),
        },
      ];
    },
    snapshot() {
      dropRemovedServers();
      const named = [...byServer].filter(([server]) => server !== hubItself);
      return {
        servers: new Map(named.map(([server, series]) => [server, totals(series)])),
        recent: recent.intervals(clock.now()),
      };
    },
  };
}

const isError = (outcome: string) => outcome !== 'ok' && outcome !== 'tool_error';

const newTimes = (): Times => ({ buckets: new Float64Array(bucketCount), sumMs: 0 });

function cellOf({ counts }: Series, method: string, outcome: string): Cell {
  const named = knownMethods.has(method) ? method : 'other';
  let outcomes = counts.get(named);
  if (!outcomes) counts.set(named, (outcomes = new Map()));
  let cell = outcomes.get(outcome);
  if (!cell) outcomes.set(outcome, (cell = { method: named, outcome, count: 0 }));
  return cell;
}

/** Adds an observation and returns the index of its bucket. */
function add(times: Times, milliseconds: number): number {
  const bucket = bucketOf(milliseconds);
  times.buckets[bucket] = (times.buckets[bucket] ?? 0) + 1;
  times.sumMs += milliseconds;
  return bucket;
}

const histogram = (labels: MetricLabels, { buckets, sumMs }: Times) => ({
  labels,
  bounds: boundsSeconds,
  counts: buckets,
  sum: sumMs / 1000,
});

function totals({ counts, duration, overhead }: Series): ServerCalls {
  let [calls, errors, toolErrors] = [0, 0, 0];
  for (const outcomes of counts.values())
    for (const [outcome, { count }] of outcomes) {
      calls += count;
      if (isError(outcome)) errors += count;
      if (outcome === 'tool_error') toolErrors += count;
    }
  return {
    calls,
    errors,
    toolErrors,
    p50Ms: quantileMs(duration.buckets, 0.5),
    p95Ms: quantileMs(duration.buckets, 0.95),
    p99Ms: quantileMs(duration.buckets, 0.99),
    overheadP50Ms: quantileMs(overhead.buckets, 0.5),
  };
}
