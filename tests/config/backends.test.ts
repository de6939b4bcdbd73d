import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readSettings } from '#config';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318/' };

test('nothing is sent if no endpoint is set', () => {
  assert.equal(readSettings({ OTEL_TRACES_SAMPLER: 'always_on' }).otlp, undefined);
});

test('the endpoint for all signals has a path for each signal, and defaults', () => {
  assert.deepEqual(readSettings(endpoint).otlp, {
    tracesUrl: 'http://localhost:4318/v1/traces',
    metricsUrl: 'http://localhost:4318/v1/metrics',
    headers: {},
    timeoutMs: 10_000,
    intervalMs: 60_000,
    gatherMs: 5_000,
    sampler: { root: 'always_on', isParentBased: true, ratio: 1 },
    resource: { 'service.name': 'agenthub' },
  });
});

test('a setting for one signal overrides that for all, and is used unchanged', () => {
  const { otlp } = readSettings({
    ...endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/here',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20abc, x-tenant = one',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.1',
    OTEL_SERVICE_NAME: 'mine',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
  });
  assert.deepEqual([otlp?.tracesUrl, otlp?.metricsUrl], ['https://traces.example/here', undefined]);
  assert.deepEqual(otlp?.headers, { Authorization: 'Bearer abc', 'x-tenant': 'one' });
  assert.deepEqual(otlp?.sampler, { root: 'traceidratio', isParentBased: false, ratio: 0.1 });
  assert.deepEqual(otlp?.resource, { 'service.name': 'mine', 'deployment.environment': 'test' });
});

test('everything can be switched off', () => {
  assert.equal(readSettings({ ...endpoint, OTEL_SDK_DISABLED: 'true' }).otlp, undefined);
});

test.for([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }, /OTEL_EXPORTER_OTLP_ENDPOINT: .*http:/],
  [
    { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    /OTEL_EXPORTER_OTLP_PROTOCOL: "grpc".*http\/json/,
  ],
  [
    { ...endpoint, OTEL_TRACES_SAMPLER: 'sometimes' },
    /OTEL_TRACES_SAMPLER: "sometimes".*always_on/,
  ],
  [{ ...endpoint, OTEL_TRACES_SAMPLER_ARG: '2' }, /OTEL_TRACES_SAMPLER_ARG: "2".*from 0 to 1/],
  [
    { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'hush' },
    /OTEL_EXPORTER_OTLP_HEADERS: the value \(not shown\)/,
  ],
  [{ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a b=hush' }, /OTEL_EXPORTER_OTLP_HEADERS: /],
] as const)('%j is refused with what is allowed', ([env, message]) => {
  assert.throws(
    () => readSettings(env),
    error =>
      error instanceof Error && message.test(error.message) && !error.message.includes('hush'),
  );
});
