import assert from 'node:assert/strict';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { describe, test } from 'vitest';
import { createRedaction } from '#telemetry';
import { type FinishedCall, createSpans, timeOf } from '../../../hub/telemetry/otel/spans.ts';

const trace = {
  traceId: 't',
  parentId: undefined,
  linked: undefined,
  serverSpanId: 's',
  clientSpanId: 'c',
  traceparent: '',
  isSampled: true,
  requestId: '"id"',
  protocolVersion: undefined,
  beganMs: 100,
  sentMs: 101,
  rpcCode: undefined,
};
const call: FinishedCall = {
  method: 'tools/call',
  name: 'search',
  server: 'notes',
  client: undefined,
  session: 'session',
  at: 5_000,
  tookMs: 10,
  serverMs: 8,
  outcome: 'ok',
  trace,
};

function spansOf(changes: Partial<FinishedCall> = {}): readonly ReadableSpan[] {
  const spans: ReadableSpan[] = [];
  const finished = createSpans(span => spans.push(span), {
    resource: resourceFromAttributes({}),
    scope: { name: 'agenthub' },
    redaction: createRedaction(() => ['hunter2-hunter2']),
  });
  finished({ ...call, ...changes }, 'cursor');
  return spans;
}

const attributesOf = (changes: Partial<FinishedCall>) => spansOf(changes)[0]?.attributes ?? {};

describe('a request has', () => {
  test('a span of the hub, and a child span of the server', () => {
    const spans = spansOf();
    assert.deepEqual(
      spans.map(({ name, kind, startTime, endTime, duration }) => [
        name,
        kind,
        startTime,
        endTime,
        duration,
      ]),
      [
        ['tools/call search', 1, [5, 0], [5, 10_000_000], [0, 10_000_000]],
        ['tools/call search', 2, [5, 1_000_000], [5, 9_000_000], [0, 8_000_000]],
      ],
    );
    const [own, sent] = spans;
    assert.deepEqual([own?.spanContext().spanId, sent?.spanContext().spanId], ['s', 'c']);
    assert.equal(own?.parentSpanContext, undefined);
    assert.equal(sent?.parentSpanContext?.spanId, 's');
    assert.equal(sent?.parentSpanContext?.isRemote, false);
  });

  test('no spans without a trace, or if it is not sampled', () => {
    assert.deepEqual(spansOf({ trace: undefined }), []);
    assert.deepEqual(spansOf({ trace: { ...trace, isSampled: false } }), []);
  });

  test('one span if no server received it', () => {
    assert.equal(spansOf({ trace: { ...trace, sentMs: undefined } }).length, 1);
  });

  test('the span of the client as its parent, and a link to the one of the headers', () => {
    const linked = { traceId: 'u', spanId: 'l', isSampled: true };
    const [own] = spansOf({ trace: { ...trace, parentId: 'p', linked } });
    assert.deepEqual(own?.parentSpanContext, {
      traceId: 't',
      spanId: 'p',
      traceFlags: 1,
      isRemote: true,
    });
    assert.deepEqual(own?.links, [{ context: { traceId: 'u', spanId: 'l', traceFlags: 1 } }]);
  });
});

describe('the attributes', () => {
  test('of the hub contain the session and the id of the request, those of the server do not', () => {
    const [own, sent] = spansOf({ trace: { ...trace, protocolVersion: '2025-11-25' } });
    const common = {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'search',
      'gen_ai.operation.name': 'execute_tool',
      'agenthub.principal.name': 'cursor',
      'agenthub.server.name': 'notes',
    };
    assert.deepEqual(sent?.attributes, common);
    assert.deepEqual(own?.attributes, {
      ...common,
      'mcp.session.id': 'session',
      'jsonrpc.request.id': 'id',
      'mcp.protocol.version': '2025-11-25',
    });
    assert.equal(
      attributesOf({ trace: { ...trace, requestId: '17' } })['jsonrpc.request.id'],
      '17',
    );
  });

  test.for([
    ['prompts/get', 'gen_ai.prompt.name', 'prompts/get x'],
    ['resources/read', 'mcp.resource.uri', 'resources/read'],
    ['completion/complete', 'agenthub.target', 'completion/complete'],
  ] as const)('of %s have its name as %s, and the span is called %s', ([method, key, name]) => {
    const [span] = spansOf({ method, name: 'x' });
    assert.equal(span?.name, name);
    assert.equal(span.attributes[key], 'x');
    assert.equal(span.attributes['gen_ai.operation.name'], undefined);
  });

  test('of a request without a name, a server or a client have none', () => {
    const [span] = spansOf({ method: 'tools/list', name: undefined, server: undefined });
    assert.deepEqual(Object.keys(span?.attributes ?? {}), [
      'mcp.method.name',
      'agenthub.principal.name',
      'mcp.session.id',
      'jsonrpc.request.id',
    ]);
  });

  test('contain no secret in text that a client chose', () => {
    const secret = 'hunter2-hunter2';
    const changes = { name: secret, client: secret, trace: { ...trace, protocolVersion: secret } };
    for (const { name, attributes } of spansOf(changes))
      assert.doesNotMatch(JSON.stringify([name, attributes]), /hunter2/);
  });

  test.for([
    ['ok', undefined, 0, undefined, undefined],
    ['tool_error', undefined, 2, 'tool_error', undefined],
    ['error', -32_000, 2, '-32000', '-32000'],
    ['error', undefined, 2, '_OTHER', undefined],
    ['HUB_CALL_TIMEOUT', -32_001, 2, 'HUB_CALL_TIMEOUT', '-32001'],
  ] as const)('of the outcome %s with the code %s', ([outcome, rpcCode, status, type, code]) => {
    const [span] = spansOf({ outcome, trace: { ...trace, rpcCode } });
    assert.equal(span?.status.code, status);
    assert.equal(span.attributes['error.type'], type);
    assert.equal(span.attributes['rpc.response.status_code'], code);
  });
});

test.for([
  [0, [0, 0]],
  [1_500.25, [1, 500_250_000]],
  [1_750_000_000_000.5, [1_750_000_000, 500_000]],
] as const)('%d ms are encoded as %j', ([milliseconds, expected]) =>
  assert.deepEqual(timeOf(milliseconds), expected),
);
