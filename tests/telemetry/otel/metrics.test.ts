import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { createManualClock } from '#helpers/clock';
import type { MetricFamily } from '../../../hub/telemetry/exposition.ts';
import { createMetricProducer, createOperations } from '../../../hub/telemetry/otel/metrics.ts';

const call = {
  method: 'tools/call',
  name: 'notes_add',
  server: 'notes',
  at: 0,
  tookMs: 2,
  serverMs: 1.5,
  outcome: 'ok',
} as const;

function operationsOf(
  ...calls: readonly Parameters<ReturnType<typeof createOperations>['record']>[0][]
) {
  const { record, families } = createOperations();
  for (const one of calls) record(one, 'cursor');
  return families().map(family => {
    assert.ok(family.type === 'histogram');
    return family.series.map(({ labels, counts, sum }) => ({
      labels,
      sum,
      count: Array.from(counts).reduce((total, count) => total + count, 0),
    }));
  });
}

describe('requests', () => {
  test("are timed by method, server and outcome, with the server's time separately", () => {
    const labels = {
      'mcp.method.name': 'tools/call',
      'agenthub.server.name': 'notes',
      'agenthub.principal.name': 'cursor',
      'gen_ai.tool.name': 'notes_add',
    };
    const [served, sent] = operationsOf(call, { ...call, tookMs: 4, serverMs: 0 });
    assert.deepEqual(served, [{ labels, sum: 0.006, count: 2 }]);
    assert.deepEqual(sent, [{ labels, sum: 0.0015, count: 1 }]);
  });

  test.for([
    ['ok', undefined],
    ['error', '_OTHER'],
    ['tool_error', 'tool_error'],
    ['HUB_CALL_TIMEOUT', 'HUB_CALL_TIMEOUT'],
  ] as const)('with the outcome %s have the error type %s', ([outcome, expected]) => {
    const [served] = operationsOf({ ...call, outcome });
    assert.equal(served?.[0]?.labels['error.type'], expected);
  });

  test('that the hub answered itself have no server, and none of its times', () => {
    const [served, sent] = operationsOf({ ...call, server: undefined, serverMs: 0 });
    assert.deepEqual(served?.[0]?.labels, {
      'mcp.method.name': 'tools/call',
      'agenthub.principal.name': 'cursor',
    });
    assert.deepEqual(sent, []);
  });

  test('of more than a thousand kinds are counted without client and tool, and then as one', () => {
    const kinds = Array.from({ length: 2_005 }, (_, number) => ({ ...call, method: `m${number}` }));
    const [served = []] = operationsOf(...kinds, ...kinds.slice(0, 1));
    assert.equal(served.length, 2_001);
    assert.equal(served[0]?.count, 2);
    assert.deepEqual(served[1_000]?.labels, {
      'mcp.method.name': 'm1000',
      'agenthub.server.name': 'notes',
    });
    assert.deepEqual(
      [served.at(-1)?.labels, served.at(-1)?.count],
      [{ 'mcp.method.name': '_OTHER' }, 5],
    );
  });
});

test('families become metrics with cumulative points, from the start of the hub to now', async () => {
  const clock = createManualClock();
  const labels = { server: 'notes' };
  const families: readonly MetricFamily[] = [
    { name: 'a_total', help: 'A.', type: 'counter', samples: [{ labels, value: 3 }] },
    { name: 'b_bytes', help: 'B.', type: 'gauge', samples: [{ labels, value: 4 }] },
    {
      name: 'c_seconds',
      help: 'C.',
      type: 'histogram',
      series: [{ labels, bounds: [1], counts: Float64Array.of(2, 1), sum: 9 }],
    },
  ];
  const resource = resourceFromAttributes({});
  const scope = { name: 'agenthub' };
  const producer = createMetricProducer(async () => families, { resource, scope, clock });
  clock.advance(1_500);
  const { resourceMetrics, errors } = await producer.collect();
  assert.deepEqual(errors, []);
  assert.equal(resourceMetrics.resource, resource);
  const [{ metrics } = assert.fail()] = resourceMetrics.scopeMetrics;
  const times = { startTime: [1_750_000_000, 0], endTime: [1_750_000_001, 500_000_000] };
  assert.deepEqual(
    metrics.map(({ descriptor, dataPointType, aggregationTemporality, dataPoints }) => ({
      unit: descriptor.unit,
      dataPointType,
      aggregationTemporality,
      dataPoints,
    })),
    [
      {
        unit: '',
        dataPointType: 3,
        aggregationTemporality: 1,
        dataPoints: [{ ...times, attributes: labels, value: 3 }],
      },
      {
        unit: 'By',
        dataPointType: 2,
        aggregationTemporality: 1,
        dataPoints: [{ ...times, attributes: labels, value: 4 }],
      },
      {
        unit: 's',
        dataPointType: 0,
        aggregationTemporality: 1,
        dataPoints: [
          {
            ...times,
            attributes: labels,
            value: { buckets: { boundaries: [1], counts: [2, 1] }, sum: 9, count: 3 },
          },
        ],
      },
    ],
  );
  assert.ok(metrics.every(metric => !('isMonotonic' in metric) || metric.isMonotonic));
});
