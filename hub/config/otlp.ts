import type { Variables } from './variables.ts';

const roots = ['always_on', 'always_off', 'traceidratio'] as const;
const addressForm = 'an address such as http://localhost:4318';
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;

/**
 * Reads where and how traces and metrics are exported, from OpenTelemetry's standard variables. Undefined if no
 * endpoint is set or OTEL_SDK_DISABLED is true.
 */
export function readOtlp(variables: Variables) {
  const { address, choice, number, secret, text, fail } = variables;
  const endpoint = address('OTEL_EXPORTER_OTLP_ENDPOINT', isHttp, addressForm);
  const urlOf = (signal: 'TRACES' | 'METRICS') => {
    const own = address(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, isHttp, addressForm);
    const isOff = choice(`OTEL_${signal}_EXPORTER`, ['otlp', 'none']) === 'none';
    return isOff ? undefined : (own ?? (endpoint && signalUrl(endpoint, signal.toLowerCase())));
  };
  const tracesUrl = urlOf('TRACES');
  const metricsUrl = urlOf('METRICS');
  if (choice('OTEL_SDK_DISABLED', ['true', 'false']) === 'true') return undefined;
  if (tracesUrl === undefined && metricsUrl === undefined) return undefined;
  // Collectors that accept Protobuf over HTTP accept JSON too.
  choice('OTEL_EXPORTER_OTLP_PROTOCOL', ['http/json', 'http/protobuf']);
  const pairs = secret('OTEL_EXPORTER_OTLP_HEADERS', pairsForm, pairsAllowed);
  const headers = pairsOf(pairs);
  if (Object.keys(headers).some(name => !headerName.test(name)))
    fail(
      'OTEL_EXPORTER_OTLP_HEADERS',
      `a name (not shown) is not a valid header name. Write ${pairsAllowed}`,
    );
  const samplers = [...roots, ...roots.map(root => `parentbased_${root}` as const)];
  const sampler = choice('OTEL_TRACES_SAMPLER', samplers) ?? 'parentbased_always_on';
  const serviceName = text('OTEL_SERVICE_NAME');
  return {
    /** Undefined: traces are not exported. */
    tracesUrl,
    /** Undefined: metrics are not exported. */
    metricsUrl,
    /** Sent with each request. May contain credentials, so it is never logged. */
    headers,
    timeoutMs: number('OTEL_EXPORTER_OTLP_TIMEOUT', 1, 60_000) ?? 10_000,
    intervalMs: number('OTEL_METRIC_EXPORT_INTERVAL', 100, 86_400_000) ?? 60_000,
    /** How long spans are collected before an export. */
    gatherMs: number('OTEL_BSP_SCHEDULE_DELAY', 1, 60_000) ?? 5_000,
    sampler: {
      root: roots.find(root => sampler.endsWith(root)) ?? 'always_on',
      /** True if the sampling decision of the caller's trace takes precedence. */
      isParentBased: sampler.startsWith('parentbased_'),
      /** Fraction of traces that `traceidratio` keeps, from 0 to 1. */
      ratio: number('OTEL_TRACES_SAMPLER_ARG', 0, 1, 'fraction') ?? 1,
    },
    resource: {
      'service.name': 'agenthub',
      ...pairsOf(text('OTEL_RESOURCE_ATTRIBUTES', pairsForm, pairsAllowed)),
      ...(serviceName !== undefined && { 'service.name': serviceName }),
    },
  };
}

const pairsForm = /^\s*[^=,\s]+\s*=[^,]*(?:,\s*[^=,\s]+\s*=[^,]*)*,?$/;
const pairsAllowed = 'comma-separated name=value pairs';

/** Values are percent-encoded, as in W3C Baggage (OpenTelemetry specification). */
function pairsOf(text = ''): Readonly<Record<string, string>> {
  const pairs = text.split(',').map(pair => /^\s*([^=]+?)\s*=\s*(.*?)\s*$/.exec(pair) ?? []);
  return Object.fromEntries(
    pairs.flatMap(([, name, value = '']) => (name === undefined ? [] : [[name, decoded(value)]])),
  );
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    // Not percent-encoded: taken literally.
    return value;
  }
}

const isHttp = (value: string) => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '');

/** The path of a signal is appended only to the common endpoint. */
const signalUrl = (endpoint: string, signal: string) =>
  `${endpoint.replace(/\/+$/, '')}/v1/${signal}`;
