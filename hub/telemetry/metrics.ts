import type { Family, Labels, Sample } from './exposition.ts';
import { boundsSeconds, bucketCount, bucketOf, quantileMs } from './histogram.ts';
import { type Interval, createRecent } from './recent.ts';

/** What is told of a request that was answered. */
export type Counted = {
  readonly method: string;
  /** Undefined where the hub answered by itself. */
  readonly server: string | undefined;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  /** In milliseconds, with fractions. */
  readonly tookMs: number;
  readonly serverMs: number;
  /** `ok`, `tool_error`, `error`, or the code of an error of the hub. */
  readonly outcome: string;
};

/** What a server has been asked since it is there. */
export type ServerCalls = {
  readonly calls: number;
  /** Those that came to an error; what a tool itself reports as one is none. */
  readonly errors: number;
  readonly toolErrors: number;
  /** Estimated from the buckets; undefined before the first call. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** What the hub added to half of the calls at the most: their time in queues and starts is among it. */
  readonly overheadP50Ms: number | undefined;
};

export type MetricsSnapshot = {
  /** By server, those that have been called. */
  readonly servers: ReadonlyMap<string, ServerCalls>;
  /** The last half hour of all calls that were sent to servers, in steps of ten seconds, the oldest first. */
  readonly recent: readonly Interval[];
};

/** Counts calls, and what they took. */
export interface Metrics {
  record(call: Counted): void;
  /** The families of calls, as they stand. */
  families(): readonly Family[];
  snapshot(): MetricsSnapshot;
}

export type MetricsNeeds = {
  readonly clock: { now(): number };
  /** The names of all servers that there are: of those that are gone nothing is told any more. */
  readonly servers: () => readonly string[];
};

/** More than this never have series at a time; who is over it is not told of by name. */
export const maxServers = 1_000;

/** Clients may send what they like to a server: other methods have one name for all. */
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

/** What the hub answered by itself has a server without a name. */
const own = '';

type Cell = { readonly method: string; readonly outcome: string; count: number };

type Series = {
  /** By method and outcome, whose sets are bounded. */
  readonly counts: Map<string, Map<string, Cell>>;
  /** The one that was counted last: mostly it is the next one as well. */
  last: Cell | undefined;
  readonly took: Times;
  readonly overhead: Times;
};

type Times = { readonly buckets: Float64Array; sumMs: number };

/** Counts in arrays that are there before the call: counting one makes nothing. */
export function createMetrics({ clock, servers }: MetricsNeeds): Metrics {
  const byServer = new Map<string, Series>();
  const recent = createRecent();

  function retain(): void {
    const there = new Set(servers());
    for (const name of byServer.keys()) if (name !== own && !there.has(name)) byServer.delete(name);
  }

  function seriesOf(server: string): Series {
    const known = byServer.get(server);
    if (known) return known;
    if (byServer.size >= maxServers) retain();
    if (byServer.size >= maxServers && server !== own) return seriesOf(own);
    const series: Series = {
      counts: new Map(),
      last: undefined,
      took: newTimes(),
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
      const series = seriesOf(server ?? own);
      const { last, took, overhead } = series;
      const cell =
        last?.method === method && last.outcome === outcome
          ? last
          : (series.last = cellOf(series, method, outcome));
      cell.count++;
      const bucket = add(took, tookMs);
      add(overhead, Math.max(0, tookMs - serverMs));
      if (server !== undefined) recent.record(at + tookMs, bucket, isError(outcome));
    },
    families() {
      retain();
      return [
        {
          name: 'agenthub_calls_total',
          help: 'Requests of clients that were answered, by the server that they were for; without one where the hub answered by itself.',
          type: 'counter',
          samples: samples(),
        },
        {
          name: 'agenthub_call_duration_seconds',
          help: 'From the arrival of a request to its answer.',
          type: 'histogram',
          series: histograms(({ took }) => took),
        },
        {
          name: 'agenthub_hub_overhead_seconds',
          help: 'The part of that during which no server had the request: relaying, waiting in a queue, starting a server.',
          type: 'histogram',
          series: histograms(({ overhead }) => overhead),
        },
      ];
    },
    snapshot() {
      retain();
      const named = [...byServer].filter(([server]) => server !== own);
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

/** The bucket that it was counted in. */
function add(times: Times, milliseconds: number): number {
  const bucket = bucketOf(milliseconds);
  times.buckets[bucket] = (times.buckets[bucket] ?? 0) + 1;
  times.sumMs += milliseconds;
  return bucket;
}

const histogram = (labels: Labels, { buckets, sumMs }: Times) => ({
  labels,
  bounds: boundsSeconds,
  counts: buckets,
  sum: sumMs / 1000,
});

function totals({ counts, took, overhead }: Series): ServerCalls {
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
    p50Ms: quantileMs(took.buckets, 0.5),
    p95Ms: quantileMs(took.buckets, 0.95),
    p99Ms: quantileMs(took.buckets, 0.99),
    overheadP50Ms: quantileMs(overhead.buckets, 0.5),
  };
}
