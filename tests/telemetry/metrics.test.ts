import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Metrics, createMetrics, exposition } from '#telemetry';
import { createManualClock } from '#helpers/clock';
import { maxServers } from '../../hub/telemetry/metrics.ts';
import { maxToolSeries } from '../../hub/telemetry/tool-calls.ts';
import { parseExposition } from './exposition-text.ts';

const clock = createManualClock();
const call = {
  method: 'tools/call',
  server: 'notes',
  at: clock.now(),
  tookMs: 2,
  serverMs: 1.5,
  outcome: 'ok',
} as const;

function open(servers: readonly string[] = ['notes', 'mail']) {
  let there = servers;
  const metrics = createMetrics({ clock, servers: () => there });
  return { metrics, have: (names: readonly string[]) => void (there = names) };
}

const read = (metrics: Metrics) => parseExposition(exposition(metrics.families()));
const total = 'agenthub_calls_total';
const duration = 'agenthub_call_duration_seconds';
const overhead = 'agenthub_hub_overhead_seconds';

describe('calls of tools', () => {
  const toolCalls = 'agenthub_tool_calls_total';
  const samplesOf = (metrics: Metrics) => [...(read(metrics).get(toolCalls)?.samples ?? [])];

  test('are counted by client, server and tool, until their server is removed', () => {
    const { metrics, have } = open();
    const named = { ...call, name: 'notes_add' };
    metrics.record(named, 'cursor');
    metrics.record(named, 'cursor');
    metrics.record({ ...named, server: 'mail' }, 'zed');
    metrics.record({ ...named, method: 'prompts/get' }, 'zed');
    metrics.record({ ...named, server: undefined }, 'zed');
    metrics.record({ ...named, name: 'https://a/?token=x' }, 'zed');
    const series = (client: string, server: string, tool: string) =>
      `${toolCalls}{client="${client}",server="${server}",tool="${tool}",outcome="ok"}`;
    assert.deepEqual(samplesOf(metrics), [
      [series('cursor', 'notes', 'notes_add'), 2],
      [series('zed', 'mail', 'notes_add'), 1],
      [series('other', 'other', 'other'), 1],
    ]);
    have(['mail']);
    assert.deepEqual(samplesOf(metrics).length, 2);
  });

  test('of more tools than the limit are counted as other', () => {
    const { metrics } = open();
    for (let index = 0; index < maxToolSeries + 500; index++)
      metrics.record({ ...call, name: `tool_${index}` }, 'cursor');
    const samples = samplesOf(metrics);
    assert.equal(samples.length, maxToolSeries + 1);
    assert.deepEqual(samples.at(-1), [
      `${toolCalls}{client="other",server="other",tool="other",outcome="ok"}`,
      500,
    ]);
  });
});

describe('calls', () => {
  test('are counted by server, method and outcome', () => {
    const { metrics } = open();
    metrics.record(call, 'cursor');
    metrics.record(call, 'cursor');
    metrics.record({ ...call, outcome: 'HUB_CALL_TIMEOUT' }, 'cursor');
    metrics.record({ ...call, server: 'mail', method: 'prompts/get' }, 'cursor');
    metrics.record({ ...call, server: undefined, method: 'tools/list' }, 'cursor');
    assert.deepEqual(
      [...(read(metrics).get(total)?.samples ?? [])],
      [
        [`${total}{server="notes",method="tools/call",outcome="ok"}`, 2],
        [`${total}{server="notes",method="tools/call",outcome="HUB_CALL_TIMEOUT"}`, 1],
        [`${total}{server="mail",method="prompts/get",outcome="ok"}`, 1],
        [`${total}{server="",method="tools/list",outcome="ok"}`, 1],
      ],
    );
  });

  test('of unknown methods are counted as one', () => {
    const { metrics } = open();
    for (let index = 0; index < 1_000; index++)
      metrics.record({ ...call, method: `invented/${index}` }, 'cursor');
    assert.deepEqual(
      [...(read(metrics).get(total)?.samples ?? [])],
      [[`${total}{server="notes",method="other",outcome="ok"}`, 1_000]],
    );
  });

  test('are timed from 25 microseconds on, with the overhead of the hub', () => {
    const { metrics } = open();
    metrics.record({ ...call, tookMs: 0.025, serverMs: 0 }, 'cursor');
    metrics.record({ ...call, tookMs: 3, serverMs: 2.96 }, 'cursor');
    metrics.record({ ...call, tookMs: 90_000, serverMs: 89_000 }, 'cursor');
    const families = read(metrics);
    const took = families.get(duration)?.samples;
    const added = families.get(overhead)?.samples;
    const at = (name: string, le: string) => `${name}_bucket{server="notes",le="${le}"}`;
    assert.equal(took?.get(at(duration, '0.000025')), 1);
    assert.equal(took?.get(at(duration, '0.0025')), 1);
    assert.equal(took?.get(at(duration, '0.005')), 2);
    assert.equal(took?.get(at(duration, '60')), 2);
    assert.equal(took?.get(at(duration, '+Inf')), 3);
    assert.ok(Math.abs((took?.get(`${duration}_sum{server="notes"}`) ?? 0) - 90.003_025) < 1e-9);
    assert.equal(added?.get(at(overhead, '0.00005')), 2);
    assert.equal(added?.get(at(overhead, '1')), 3);
  });

  test('of a removed server are not reported', () => {
    const { metrics, have } = open();
    metrics.record(call, 'cursor');
    metrics.record({ ...call, server: 'mail' }, 'cursor');
    have(['mail']);
    metrics.record({ ...call, outcome: 'HUB_CALL_CANCELLED' }, 'cursor');
    assert.doesNotMatch(exposition(metrics.families()), /notes/);
    assert.deepEqual([...metrics.snapshot().servers.keys()], ['mail']);
  });

  test('of more servers than the limit are counted without a name', () => {
    const { metrics, have } = open();
    const names = Array.from({ length: maxServers + 10 }, (_, index) => `s${index}`);
    have(names);
    for (const server of names) metrics.record({ ...call, server }, 'cursor');
    const calls = metrics.families().filter(({ name }) => name === total);
    const samples = parseExposition(exposition(calls)).get(total)?.samples;
    assert.equal(samples?.size, maxServers + 1);
    assert.equal(samples?.get(`${total}{server="",method="tools/call",outcome="ok"}`), 10);
  });
});

test('a snapshot has the failures and the durations of each server', () => {
  const { metrics } = open();
  for (let index = 0; index < 98; index++)
    metrics.record({ ...call, tookMs: 1.5, serverMs: 1.45 }, 'cursor');
  metrics.record({ ...call, tookMs: 400, outcome: 'tool_error' }, 'cursor');
  metrics.record({ ...call, tookMs: 400, outcome: 'error' }, 'cursor');
  const { servers } = metrics.snapshot();
  const notes = servers.get('notes');
  assert.deepEqual([...servers.keys()], ['notes']);
  assert.deepEqual([notes?.calls, notes?.errors, notes?.toolErrors], [100, 1, 1]);
  const [p50, p95, p99] = [notes?.p50Ms ?? 0, notes?.p95Ms ?? 0, notes?.p99Ms ?? 0];
  assert.ok(p50 > 1 && p50 < 2.5 && p95 > p50 && p95 < 2.5, `${p50} and ${p95} ms`);
  assert.ok(p99 > 250 && p99 <= 500, `${p99} ms`);
  assert.ok((notes?.overheadP50Ms ?? 1) <= 0.1);
});

test('a snapshot leaves lists out, which clients ask for again while a server is down', () => {
  const { metrics } = open();
  metrics.record(call, 'cursor');
  for (const method of ['tools/list', 'resources/templates/list'])
    metrics.record({ ...call, method, outcome: 'HUB_SERVER_FAILED' }, 'cursor');
  const { servers, recent, day } = metrics.snapshot();
  const notes = servers.get('notes');
  assert.deepEqual([notes?.calls, notes?.errors], [1, 0]);
  for (const slices of [recent, day])
    assert.deepEqual([slices.at(-1)?.calls, slices.at(-1)?.errors], [1, 0]);
});

test('the last half hour is returned in steps of ten seconds, including empty ones', () => {
  const { metrics } = open();
  const now = clock.now();
  const begin = Math.floor(now / 10_000) * 10_000;
  metrics.record({ ...call, at: begin - 30 * 60_000 }, 'cursor');
  metrics.record({ ...call, at: begin - 20_000, tookMs: 40 }, 'cursor');
  metrics.record({ ...call, at: begin - 20_000, tookMs: 40, outcome: 'error' }, 'cursor');
  metrics.record({ ...call, at: begin, tookMs: 0 }, 'cursor');
  metrics.record({ ...call, at: begin, tookMs: 0, server: undefined }, 'cursor');
  const { recent } = metrics.snapshot();
  assert.equal(recent.length, 180);
  const { day } = metrics.snapshot();
  assert.deepEqual(
    [day.length, day.reduce((sum, { calls }) => sum + calls, 0)],
    [288, 4],
    'the day has the call before, too',
  );
  assert.equal(recent.at(-1)?.at, begin);
  assert.deepEqual(
    recent.filter(({ calls }) => calls > 0).map(({ at, calls, errors }) => [at, calls, errors]),
    [
      [begin - 20_000, 2, 1],
      [begin, 1, 0],
    ],
  );
  const [p50, p99] = [recent.at(-3)?.p50Ms ?? 0, recent.at(-3)?.p99Ms ?? 0];
  assert.ok(p50 > 25 && p50 < p99 && p99 <= 50, `${p50} and ${p99} ms`);
  assert.equal(recent.at(-2)?.p50Ms, undefined);
});
