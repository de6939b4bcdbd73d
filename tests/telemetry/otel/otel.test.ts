import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '#core';
import { createRecordingLog } from '#helpers/hub';
import { type HubProcess, startHub } from '#helpers/hub-process';
import { type OtlpOptions, createRedaction, loadOtlpExporter } from '#telemetry';
import { type OtlpReceiver, type ReceivedSpan, startOtlp } from '../../doubles/otlp.ts';

const leaky = join(import.meta.dirname, '../..', 'fixtures', 'servers', 'leaky.mjs');
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
const traceparent = `00-${traceId}-${parentId}-01`;
const [serverKind, clientKind] = [2, 3];

let receiver: OtlpReceiver;
let hub: HubProcess;
let session = '';

/** Posts a request with chosen headers and id, which clients of the SDK would not send. */
async function post(
  method: string,
  params: object | undefined,
  headers: Record<string, string> = {},
  id: string | number = 1,
): Promise<string> {
  const answer = await fetch(`${hub.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session && { 'mcp-session-id': session }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) }),
  });
  session ||= answer.headers.get('mcp-session-id') ?? '';
  return await answer.text();
}

const call = (tool: string, more: object = {}, headers = {}, id: string | number = 1) =>
  post('tools/call', { name: `leaky_${tool}`, ...more }, headers, id);

const spansOf = (id: string): readonly ReceivedSpan[] => {
  const mine = receiver.spans.find(one => one.attributes['jsonrpc.request.id'] === id);
  return receiver.spans.filter(one => one.traceId === mine?.traceId);
};

/** Waits for the two spans of a request: the hub's own, and the one for the server. */
const pairOf = async (id: string) =>
  await vi.waitFor(
    () => {
      const [own] = spansOf(id).filter(one => one.attributes['jsonrpc.request.id'] === id);
      const sent = spansOf(id).find(one => one.parentSpanId === own?.spanId);
      assert.ok(own && sent);
      return { own, sent };
    },
    { timeout: 10_000 },
  );

beforeAll(async () => {
  receiver = await startOtlp();
  hub = await startHub({
    config: {
      servers: {
        leaky: {
          command: process.execPath,
          args: [leaky],
          runtime: 'process',
          auto_start: true,
          timeout: 1,
        },
      },
    },
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=planted%20key',
      OTEL_METRIC_EXPORT_INTERVAL: '300',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
    },
  });
  await post('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'tester', version: '1' },
  });
  await vi.waitFor(async () => assert.match(await call('meta'), /result/), { timeout: 20_000 });
}, 90_000);

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

describe('a call of a client with a trace', () => {
  test("reaches the server as a child of the hub's span, and is otherwise unchanged", async () => {
    const given = { progressToken: 'p', traceparent, tracestate: 'a=b' };
    const answer = await call('meta', { _meta: given }, {}, 'child');
    const meta = JSON.parse(JSON.parse(answer).result.content[0].text);
    const { own, sent } = await pairOf('child');
    assert.deepEqual([own.traceId, own.parentSpanId], [traceId, parentId]);
    assert.equal(meta.traceparent, `00-${traceId}-${sent.spanId}-01`);
    assert.equal(meta.tracestate, 'a=b');
  });

  test('is exported with the names of the semantic conventions, without its content', async () => {
    await call('leak', { arguments: { text: 'a payload' } }, {}, 'names');
    const { own, sent } = await pairOf('names');
    assert.equal(own.name, 'tools/call leaky_leak');
    assert.deepEqual([own.kind, sent.kind], [serverKind, clientKind]);
    expect(own.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2025-11-25',
      'mcp.session.id': expect.any(String),
      'jsonrpc.request.id': 'names',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'leaky_leak',
      'agenthub.principal.name': 'local',
      'agenthub.server.name': 'leaky',
      'agenthub.client.name': 'tester 1',
    });
    const took = ({ startTimeUnixNano: start, endTimeUnixNano: end }: ReceivedSpan) =>
      [BigInt(start), BigInt(end)] as const;
    assert.ok(took(own)[0] <= took(sent)[0] && took(sent)[1] <= took(own)[1]);
    assert.equal(own.resource['service.name'], 'agenthub');
    assert.equal(own.resource['deployment.environment'], 'test');
    assert.equal(receiver.headers['x-api-key'], 'planted key');
    for (const body of receiver.bodies) assert.doesNotMatch(body, /a payload/);
  });

  test('has the traceparent of its HTTP request as its parent, if it has none itself', async () => {
    await call('meta', {}, { traceparent }, 'header');
    assert.equal((await pairOf('header')).own.parentSpanId, parentId);
  });

  test('is linked to that traceparent, if it has another one', async () => {
    const other = `00-${traceId}-b7ad6b7169203331-01`;
    await call('meta', { _meta: { traceparent } }, { traceparent: other }, 'linked');
    const { own } = await pairOf('linked');
    assert.equal(own.parentSpanId, parentId);
    assert.deepEqual(own.links, [{ spanId: 'b7ad6b7169203331' }]);
  });

  test('is not exported if it is not sampled, and its server gets that flag', async () => {
    const unsampled = `00-${traceId}-${parentId}-00`;
    const answer = await call('meta', { _meta: { traceparent: unsampled } }, {}, 'unsampled');
    const meta = JSON.parse(JSON.parse(answer).result.content[0].text);
    assert.match(meta.traceparent, new RegExp(`^00-${traceId}-(?!${parentId})[\\da-f]{16}-00$`));
    await call('meta', {}, {}, 'after');
    await pairOf('after');
    assert.deepEqual(spansOf('unsampled'), []);
  });
});

test.for([
  ['without metadata', {}],
  ['with empty metadata', { _meta: {} }],
  ['with a traceparent that is none', { _meta: { traceparent: '00-0-0-zz' } }],
] as const)('a call %s begins a trace', async ([id, more]) => {
  const answer = await call('meta', more, {}, id);
  const meta = JSON.parse(JSON.parse(answer).result.content[0].text);
  const { own, sent } = await pairOf(id);
  assert.equal(own.parentSpanId, undefined);
  assert.equal(meta.traceparent, `00-${own.traceId}-${sent.spanId}-01`);
});

test('a call of the stateless revision carries the trace to a server with a session', async () => {
  const modern = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'modern', version: '2' },
  };
  const kept = session;
  session = '';
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'leaky_meta',
  };
  const answer = await call('meta', { _meta: modern }, headers, 'modern');
  session = kept;
  const meta = JSON.parse(JSON.parse(answer).result.content[0].text);
  const { own, sent } = await pairOf('modern');
  assert.deepEqual(meta, { traceparent: `00-${own.traceId}-${sent.spanId}-01` });
});

test('a call that fails has the kind of failure', async () => {
  await call('refuse', {}, {}, 'refused');
  await call('silent', {}, {}, 'silent');
  const refused = await pairOf('refused');
  assert.equal(refused.own.attributes['error.type'], '-32000');
  assert.deepEqual(refused.own.status, { code: 2 });
  const { own } = await pairOf('silent');
  assert.equal(own.attributes['error.type'], 'HUB_CALL_TIMEOUT');
  assert.equal(own.attributes['rpc.response.status_code'], '-32001');
});

test('metrics have the names of the conventions, and those of /metrics', async () => {
  await vi.waitFor(
    () => {
      for (const name of [
        'mcp.server.operation.duration',
        'mcp.client.operation.duration',
        'agenthub_calls_total',
        'agenthub_call_duration_seconds',
        'agenthub_server_up',
      ])
        assert.ok(receiver.metrics.has(name), name);
    },
    { timeout: 10_000 },
  );
  await vi.waitFor(
    () =>
      expect(receiver.metrics.get('agenthub_calls_total')).toMatchObject({
        sum: {
          isMonotonic: true,
          aggregationTemporality: 2,
          dataPoints: expect.arrayContaining([
            expect.objectContaining({
              attributes: expect.arrayContaining([
                { key: 'outcome', value: { stringValue: 'HUB_CALL_TIMEOUT' } },
              ]),
            }),
          ]),
        },
      }),
    { timeout: 10_000 },
  );
});

describe.each(['hangs', 'refuses', 'is away'] as const)('an endpoint that %s', behaviour => {
  test('delays neither calls nor the exit of the hub, and is logged once', async () => {
    await using away = await startOtlp(behaviour === 'hangs' ? 'hangs' : 'refuses');
    const url = behaviour === 'is away' ? 'http://127.0.0.1:9' : away.url;
    const { log, logged } = createRecordingLog();
    const options: OtlpOptions = {
      tracesUrl: `${url}/v1/traces`,
      metricsUrl: `${url}/v1/metrics`,
      headers: {},
      timeoutMs: 200,
      intervalMs: 100,
      gatherMs: 5_000,
      sampler: { root: 'always_on', isParentBased: true, ratio: 1 },
      resource: { 'service.name': 'agenthub' },
    };
    const otlp = await (
      await loadOtlpExporter()
    )(options, {
      clock: systemClock,
      log,
      fill: bytes => void bytes.fill(1),
      families: async () => [],
      redaction: createRedaction(() => []),
      version: '0.0.0',
    });
    const began = performance.now();
    // More spans than the queue holds.
    for (let count = 0; count < 10_000; count++)
      otlp.record(
        {
          method: 'tools/call',
          name: 'any',
          server: 'any',
          session: '1',
          client: undefined,
          at: Date.now(),
          tookMs: 1,
          serverMs: 1,
          outcome: 'ok',
          trace: otlp.tracer?.({
            traceparent: undefined,
            httpTraceparent: undefined,
            requestId: '1',
            protocolVersion: undefined,
            beganMs: 0,
          }),
        },
        'cursor',
      );
    assert.ok(performance.now() - began < 2_000, 'recording waits for nobody');
    await vi.waitFor(() => assert.ok(logged.length > 0), { timeout: 5_000 });
    const ending = performance.now();
    await otlp.stop();
    assert.ok(performance.now() - ending < 2_500, 'the end waits two seconds at the most');
    assert.equal(logged.length, 1);
    assert.match(logged[0]?.message ?? '', /OpenTelemetry/);
  });
});
