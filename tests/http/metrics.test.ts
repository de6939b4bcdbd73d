import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { startHub } from '#helpers/hub';
import { createContainerUsages } from '../../hub/http/container-usage.ts';
import { openClient } from '../routing/clients.ts';
import { parseExposition } from '../telemetry/exposition-text.ts';
import { send } from '../transports/raw.ts';

/** What Prometheus would find there. */
async function scrape(url: string) {
  const response = await send(`${url}/metrics`);
  assert.equal(response.status, 200);
  assert.equal(response.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  return parseExposition(await response.body());
}

describe('GET /metrics', () => {
  test('tells Prometheus of each server, of all calls, and of the hub itself', async () => {
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

describe('what containers use', () => {
  const usage = { memoryBytes: 5, memoryLimitBytes: 10, pids: 1, pidsLimit: 2, cpuMs: 1_500 };

  /** Servers of which only this is looked at. */
  function serversOf(usages: readonly (() => Promise<typeof usage | undefined>)[]) {
    let asked = 0;
    const all = usages.map((read, index) => ({
      config: { name: `s${index}` },
      running: {
        instance: {
          usage() {
            asked++;
            return read();
          },
        },
      },
    }));
    return { servers: () => all, asked: () => asked };
  }

  test('is asked once in five seconds, and left out where nobody can tell', async () => {
    const clock = createManualClock();
    const { servers, asked } = serversOf([
      async () => usage,
      async () => undefined,
      () => Promise.reject(new Error('no engine')),
    ]);
    const usages = createContainerUsages(servers, clock);
    const [first, second] = await Promise.all([usages.read(), usages.read()]);
    assert.deepEqual([...first], [['s0', { memoryBytes: 5, cpuMs: 1_500 }]]);
    assert.equal(second, first);
    clock.advance(4_999);
    await usages.read();
    assert.equal(asked(), 3);
    clock.advance(1);
    await usages.read();
    assert.equal(asked(), 6);
  });

  test('is waited for two seconds, and what was told by then counts', async () => {
    const clock = createManualClock();
    const { servers } = serversOf([async () => usage, () => new Promise(() => {})]);
    const read = createContainerUsages(servers, clock).read();
    let isOver = false;
    void read.then(() => (isOver = true));
    await new Promise(setImmediate);
    clock.advance(1_999);
    await new Promise(setImmediate);
    assert.equal(isOver, false);
    clock.advance(1);
    assert.deepEqual([...(await read).keys()], ['s0']);
  });
});
