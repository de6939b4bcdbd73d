import type { Resource } from '@opentelemetry/resources';
import type {
  DataPoint,
  MetricData,
  MetricProducer,
  ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Family, Labels } from './exposition.ts';

/** A request that was answered, as far as the metrics of OpenTelemetry tell of it. */
export type Operation = {
  readonly method: string;
  readonly server: string | undefined;
  readonly tookMs: number;
  readonly serverMs: number;
  readonly outcome: string;
};

type Needs = {
  readonly resource: Resource;
  readonly scope: ScopeMetrics['scope'];
  readonly clock: { now(): number };
};

/** The bounds that the semantic conventions want, and below them those of what a hub takes. */
const bounds = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
  30, 60, 120, 300,
];

/** More kinds of requests are counted as one: clients may send what they like. */
const maxKinds = 1_000;

type Times = { readonly labels: Labels; readonly counts: Float64Array; sum: number };

/** Requests by the names that the semantic conventions of MCP have. */
export type Operations = {
  /** Makes nothing for a request of a kind that has been there. */
  readonly record: (operation: Operation) => void;
  readonly families: () => readonly Family[];
};

export function createOperations(): Operations {
  const kinds = new Map<string, { readonly served: Times; readonly sent: Times }>();

  function kindOf({ method, server, outcome }: Operation) {
    const key = `${method}\n${server ?? ''}\n${outcome}`;
    const known = kinds.get(key);
    if (known) return known;
    const isFull = kinds.size >= maxKinds;
    const labels = isFull ? { 'mcp.method.name': '_OTHER' } : labelsOf(method, server, outcome);
    const times = (): Times => ({ labels, counts: new Float64Array(bounds.length + 1), sum: 0 });
    const other = isFull ? kinds.get('') : undefined;
    const made = other ?? { served: times(), sent: times() };
    kinds.set(isFull ? '' : key, made);
    return made;
  }

  const family = (name: string, help: string, choose: 'served' | 'sent'): Family => ({
    name,
    help,
    type: 'histogram',
    series: [...kinds.values()]
      .map(kind => kind[choose])
      .filter(({ counts }) => counts.some(count => count > 0))
      .map(({ labels, counts, sum }) => ({ labels, bounds, counts, sum })),
  });

  return {
    record(operation) {
      const { served, sent } = kindOf(operation);
      add(served, operation.tookMs / 1000);
      if (operation.serverMs > 0) add(sent, operation.serverMs / 1000);
    },
    families: () => [
      family(
        'mcp.server.operation.duration',
        'From the arrival of a request at the hub to its answer.',
        'served',
      ),
      family(
        'mcp.client.operation.duration',
        'How long servers had a request that the hub passed to them.',
        'sent',
      ),
    ],
  };
}

const labelsOf = (method: string, server: string | undefined, outcome: string): Labels => ({
  'mcp.method.name': method,
  ...(server !== undefined && { 'agenthub.server.name': server }),
  ...(outcome !== 'ok' && { 'error.type': outcome === 'error' ? '_OTHER' : outcome }),
});

function add(times: Times, seconds: number): void {
  let bucket = 0;
  while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket++;
  times.counts[bucket] = (times.counts[bucket] ?? 0) + 1;
  times.sum += seconds;
}

/** Gives what the hub measures to whoever sends it. The numbers of OpenTelemetry's enums stand for themselves. */
export function producerOf(
  families: () => Promise<readonly Family[]>,
  { resource, scope, clock }: Needs,
): MetricProducer {
  const startTime = timeOf(clock.now());
  return {
    async collect() {
      const endTime = timeOf(clock.now());
      const point = <T>(labels: Labels, value: T): DataPoint<T> => ({
        startTime,
        endTime,
        attributes: { ...labels },
        value,
      });
      const read = await families();
      const metrics = read.map(family => metricOf(family, point));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

const cumulative = 1;
const dataPointTypes = { histogram: 0, gauge: 2, counter: 3 } as const;

function metricOf(
  family: Family,
  point: <T>(labels: Labels, value: T) => DataPoint<T>,
): MetricData {
  const base = {
    descriptor: {
      name: family.name,
      description: family.help,
      unit: unitOf(family.name),
      valueType: 1,
    },
    aggregationTemporality: cumulative,
  } as const;
  if (family.type === 'histogram')
    return {
      ...base,
      dataPointType: dataPointTypes.histogram,
      dataPoints: family.series.map(({ labels, bounds, counts, sum }) => {
        const each = Array.from(counts);
        const count = each.reduce((total, one) => total + one, 0);
        const buckets = { boundaries: [...bounds], counts: each };
        return point(labels, { buckets, sum, count });
      }),
    };
  const dataPoints = family.samples.map(({ labels, value }) => point(labels, value));
  return family.type === 'counter'
    ? { ...base, dataPointType: dataPointTypes.counter, dataPoints, isMonotonic: true }
    : { ...base, dataPointType: dataPointTypes.gauge, dataPoints };
}

/** As OpenTelemetry writes it. */
const unitOf = (name: string) =>
  /duration|seconds/.test(name) ? 's' : /bytes/.test(name) ? 'By' : '';

/** Milliseconds as whole seconds and nanoseconds. */
function timeOf(milliseconds: number): [number, number] {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
}
