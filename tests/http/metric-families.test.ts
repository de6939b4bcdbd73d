import assert from 'node:assert/strict';
import { afterAll, describe, test } from 'vitest';
import { silent } from '#core';
import { configOf, createFixtureServers, startHub } from '#helpers/hub';
import type { Server } from '#servers';
import {
  type CacheCounts,
  type MetricFamiliesNeeds,
  readMetricFamilies,
} from '../../hub/http/metric-families.ts';
import { openClient } from '../routing/clients.ts';
import { parseExposition } from '../telemetry/exposition-text.ts';
import { send } from '../transports/raw.ts';

/** Returns the metrics as Prometheus scrapes them. */
async function scrape(url: string) {
  const response = await send(`${url}/metrics`);
  assert.equal(response.status, 200);
  assert.equal(response.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  return parseExposition(await response.body());
}

describe('GET /metrics', () => {
  test('has metrics of each server, of all calls, and of the hub itself', async () => {
    await using hub = await startHub([
      { name: 'echo' },
      { name: 'idle', file: 'echo.mjs', autoStart: false },
    ]);
    const client = openClient(hub);
    await client.call('echo_echo', { text: 'hi' });
    await client.call('echo_echo', { text: 'hi' });
    await client.ask('tools/list');
    const families = await scrape(hub.url);
    assert.deepEqual([...families].map(([name, { type }]) => `${type} ${name}`).sort(), [
      'counter agenthub_calls_total',
      'counter agenthub_server_restarts_total',
      'counter agenthub_tool_calls_total',
      'gauge agenthub_build_info',
      'gauge agenthub_calls_in_flight',
      'gauge agenthub_queue_waiting',
      'gauge agenthub_server_up',
      'gauge agenthub_sessions',
      'gauge process_resident_memory_bytes',
      'histogram agenthub_call_duration_seconds',
      'histogram agenthub_hub_overhead_seconds',
    ]);
    const sampleOf = (name: string, labels = '') =>
      families.get(name.replace(/_(count|bucket|sum)$/, ''))?.samples.get(`${name}{${labels}}`);
    assert.equal(
      sampleOf('agenthub_calls_total', 'server="echo",method="tools/call",outcome="ok"'),
      2,
    );
    assert.equal(sampleOf('agenthub_calls_total', 'server="",method="tools/list",outcome="ok"'), 1);
    assert.equal(sampleOf('agenthub_call_duration_seconds_count', 'server="echo"'), 2);
    assert.equal(sampleOf('agenthub_hub_overhead_seconds_count', 'server="echo"'), 2);
    assert.equal(sampleOf('agenthub_server_up', 'server="echo"'), 1);
    assert.equal(sampleOf('agenthub_server_up', 'server="idle"'), 0);
    assert.equal(sampleOf('agenthub_calls_in_flight', 'server="echo"'), 0);
    assert.equal(sampleOf('agenthub_build_info', 'version="0.0.0-test"'), 1);
    assert.ok((sampleOf('process_resident_memory_bytes') ?? 0) > 10_000_000);
  });
});

describe('the metric families', () => {
  const shared = configOf({ name: 'echo' });

  /** Returns a server that has not started, with the given measurements. */
  function measured(
    {
      queued,
      active,
      breaker,
    }: Readonly<Record<'queued' | 'active', number>> & { readonly breaker?: string },
    restarts = 0,
  ): Server {
    const server = servers.get('echo');
    const admission = {
      ...server.admission,
      snapshot: () => ({
        ...server.admission.snapshot(),
        queued,
        active,
        breaker: breaker === undefined ? undefined : { state: breaker },
      }),
    };
    return { ...server, config: shared, restarts, admission };
  }

  const servers = createFixtureServers([{ name: 'echo' }], { log: silent });
  afterAll(() => servers[Symbol.asyncDispose]());

  /** Returns the samples of each family, by name: labels and value. */
  async function read(needs: Partial<MetricFamiliesNeeds> = {}) {
    const families = await readMetricFamilies({
      servers: { all: [], instances: { list: () => [] } },
      transports: { streamable: { sessionCount: 0 }, connections: { size: 0 } },
      hub: { version: '1.2.3', residentBytes: () => 4096 },
      telemetry: { metrics: { families: () => [] } },
      usages: { read: async () => new Map() },
      ...needs,
    });
    return new Map(
      families.map(family => [
        family.name,
        family.type === 'histogram'
          ? []
          : family.samples.map(({ labels, value }) => [Object.values(labels).join(' '), value]),
      ]),
    );
  }

  test('add the calls of all instances to those of their server', async () => {
    const base = measured({ queued: 1, active: 2 }, 3);
    const list = () => [
      measured({ queued: 10, active: 20 }),
      measured({ queued: 100, active: 200 }),
    ];
    const families = await read({ servers: { all: [base], instances: { list } } });
    assert.deepEqual(families.get('agenthub_queue_waiting'), [['echo', 111]]);
    assert.deepEqual(families.get('agenthub_calls_in_flight'), [['echo', 222]]);
    assert.deepEqual(families.get('agenthub_server_restarts_total'), [['echo', 3]]);
    assert.deepEqual(families.get('agenthub_server_up'), [['echo', 0]]);
  });

  test.each([
    ['closed', [['echo', 0]]],
    ['half_open', [['echo', 1]]],
    ['open', [['echo', 2]]],
    ['unheard-of', []],
    [undefined, []],
  ])('show a breaker that is %s as %j', async (breaker, expected) => {
    const all = [measured({ queued: 0, active: 0, ...(breaker !== undefined && { breaker }) })];
    const families = await read({ servers: { all, instances: { list: () => [] } } });
    assert.deepEqual(families.get('agenthub_breaker_state'), expected);
  });

  test('have the usage of containers in bytes and seconds, if it is known', async () => {
    const all = [measured({ queued: 0, active: 0 })];
    const usage = new Map([['echo', { memoryBytes: 5, cpuMs: 1_500 }]]);
    const known = await read({
      servers: { all, instances: { list: () => [] } },
      usages: { read: async () => usage },
    });
    assert.deepEqual(known.get('agenthub_container_memory_bytes'), [['echo', 5]]);
    assert.deepEqual(known.get('agenthub_container_cpu_seconds_total'), [['echo', 1.5]]);
    const unknown = await read({ servers: { all, instances: { list: () => [] } } });
    assert.deepEqual(unknown.get('agenthub_container_memory_bytes'), []);
    assert.deepEqual(unknown.get('agenthub_container_cpu_seconds_total'), []);
  });

  describe('of the prompt caches', () => {
    const exact = { hits: 1, misses: 2, joined: 3, errors: 4, entries: 5 };
    const semantic = { hits: 6, misses: 7, shadowHits: 8, errors: 9, vectors: { entries: 10 } };
    const loading = (stats: () => Promise<CacheCounts>) => ({
      prompts: {
        health: {
          loaded: async () => ({
            enhancer: { stats },
            models: {
              metrics: () => ({ breaker: undefined, boundsMs: [], models: [], queues: [] }),
            },
          }),
        },
      },
    });

    test('have the outcomes of look-ups in each', async () => {
      const families = await read(loading(async () => ({ exact, semantic })));
      assert.deepEqual(families.get('agenthub_cache_requests_total'), [
        ['l1 hit', 1],
        ['l1 miss', 2],
        ['l1 joined', 3],
        ['l1 error', 4],
        ['l2 hit', 6],
        ['l2 miss', 7],
        ['l2 shadow_hit', 8],
        ['l2 error', 9],
      ]);
      assert.deepEqual(families.get('agenthub_cache_entries'), [
        ['l1', 5],
        ['l2', 10],
      ]);
    });

    test('omit the semantic cache if no rule uses it', async () => {
      const families = await read(loading(async () => ({ exact, semantic: undefined })));
      assert.deepEqual(families.get('agenthub_cache_requests_total')?.length, 4);
      assert.deepEqual(families.get('agenthub_cache_entries'), [['l1', 5]]);
    });

    test.each<readonly [what: string, prompts: NonNullable<MetricFamiliesNeeds['prompts']>]>([
      ['is not used yet', { health: { loaded: () => undefined } }],
      ['tells nothing of itself', {}],
      ['did not start', { health: { loaded: () => Promise.reject(new Error('no')) } }],
      ['cannot count', loading(() => Promise.reject(new Error('no'))).prompts],
    ])('are absent if the enhancer %s', async (_what, prompts) => {
      const families = await read({ prompts });
      assert.equal(families.has('agenthub_cache_requests_total'), false);
      assert.deepEqual(families.get('agenthub_sessions'), [['', 0]]);
    });
  });
});
