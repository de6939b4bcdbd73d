import type { Resource } from '@opentelemetry/resources';
import type {
  DataPoint,
  MetricData,
  MetricProducer,
  ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import type { MetricFamily, MetricLabels } from '../exposition.ts';
import { type Times, addTime, newTimes } from '../histogram.ts';
import type { MeasuredCall } from '../metrics.ts';
import { toolOf } from '../tool-calls.ts';
import { timeOf } from './spans.ts';

type Needs = {
  readonly resource: Resource;
  readonly scope: ScopeMetrics['scope'];
  readonly clock: { now(): number };
};

/** Upper bounds of the buckets in seconds: those of the semantic conventions, and finer ones for the hub's own time. */
const bounds = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
  30, 60, 120, 300,
];

/**
 * Maximum number of label sets with principal and tool. Further requests are counted without both, and above twice as
 * many sets as `_OTHER`: clients choose methods and names.
 */
const maxKinds = 1_000;

const about = {
  served: {
    name: 'mcp.server.operation.duration',
    help: 'Time from the arrival of a request at the hub to its answer.',
  },
  sent: {
    name: 'mcp.client.operation.duration',
    help: 'Time that a server took for a request of the hub.',
  },
};

type Kind = { readonly labels: MetricLabels; readonly served: Times; readonly sent: Times };

/** Creates request metrics under the names of the OpenTelemetry semantic conventions for MCP. */
export function createOperations() {
  const kinds = new Map<string, Kind>();

  function makeKind(key: string, labels: MetricLabels): Kind {
    const made = { labels, served: newTimes(bounds), sent: newTimes(bounds) };
    kinds.set(key, made);
    return made;
  }

  function kindOf(operation: MeasuredCall, principal: string): Kind {
    const { method, server, outcome } = operation;
    const tool = toolOf(operation);
    const coarse = `${method}\n${server ?? ''}\n${outcome}`;
    const key = `${coarse}\n${principal}\n${tool ?? ''}`;
    const known = kinds.get(key);
    if (known) return known;
    const labels = labelsOf(method, server, outcome);
    if (kinds.size < maxKinds)
      return makeKind(key, {
        ...labels,
        'agenthub.principal.name': principal,
        ...(tool !== undefined && { 'gen_ai.tool.name': tool }),
      });
    const shared = kinds.get(coarse);
    if (shared) return shared;
    if (kinds.size < 2 * maxKinds) return makeKind(coarse, labels);
    return kinds.get('') ?? makeKind('', { 'mcp.method.name': '_OTHER' });
  }

  const family = (choose: keyof typeof about): MetricFamily => ({
    ...about[choose],
    type: 'histogram',
    series: [...kinds.values()]
      .map(({ labels, [choose]: { buckets, sum } }) => ({ labels, bounds, counts: buckets, sum }))
      .filter(({ counts }) => counts.some(count => count > 0)),
  });

  return {
    /** Records a request. Allocates only for the first request with the same labels. */
    record: (operation: MeasuredCall, principal: string): void => {
      const { served, sent } = kindOf(operation, principal);
      addTime(served, operation.tookMs / 1000, bounds);
      if (operation.serverMs > 0) addTime(sent, operation.serverMs / 1000, bounds);
    },
    families: () => [family('served'), family('sent')],
  };
}

const labelsOf = (method: string, server: string | undefined, outcome: string): MetricLabels => ({
  'mcp.method.name': method,
  ...(server !== undefined && { 'agenthub.server.name': server }),
  ...(outcome !== 'ok' && { 'error.type': outcome === 'error' ? '_OTHER' : outcome }),
});

/** Converts the hub's metrics to OpenTelemetry. Enum values are numbers, so that the package is not loaded here. */
export function createMetricProducer(
  families: () => Promise<readonly MetricFamily[]>,
  { resource, scope, clock }: Needs,
): MetricProducer {
  const startTime = timeOf(clock.now());
  return {
    async collect() {
      const endTime = timeOf(clock.now());
      const point = <T>(labels: MetricLabels, value: T): DataPoint<T> => ({
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
  family: MetricFamily,
  point: <T>(labels: MetricLabels, value: T) => DataPoint<T>,
): MetricData {
  const { name } = family;
  const base = {
    descriptor: { name, description: family.help, unit: unitOf(name), valueType: 1 },
    aggregationTemporality: cumulative,
  } as const;
  if (family.type === 'histogram')
    return {
      ...base,
      dataPointType: dataPointTypes.histogram,
      dataPoints: family.series.map(({ labels, bounds, counts, sum }) => {
        const eachCount = Array.from(counts);
        const count = eachCount.reduce((total, one) => total + one, 0);
        const buckets = { boundaries: [...bounds], counts: eachCount };
        return point(labels, { buckets, sum, count });
      }),
    };
  const dataPoints = family.samples.map(({ labels, value }) => point(labels, value));
  return family.type === 'counter'
    ? { ...base, dataPointType: dataPointTypes.counter, dataPoints, isMonotonic: true }
    : { ...base, dataPointType: dataPointTypes.gauge, dataPoints };
}

/** Returns the unit of a metric in UCUM notation, as OpenTelemetry requires. */
const unitOf = (name: string) =>
  /duration|seconds/.test(name) ? 's' : /bytes/.test(name) ? 'By' : '';
