import type { Variables } from './variables.ts';

/** Where and how traces and metrics are exported, from OpenTelemetry's standard variables. */
export type OtlpSettings = {
  /** Undefined: traces are not exported. */
  readonly tracesUrl: string | undefined;
  /** Undefined: metrics are not exported. */
  readonly metricsUrl: string | undefined;
  /** Sent with each request. May contain credentials, so it is never logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Interval of metric exports, and how long spans are collected before an export. */
  readonly intervalMs: number;
  readonly gatherMs: number;
  readonly sampler: Sampler;
  /** Resource attributes: `service.name` and the others that are set. */
  readonly resource: Readonly<Record<string, string>>;
};

export type Sampler = {
  /** Sampling decision for a trace that starts in the hub. */
  readonly root: 'always_on' | 'always_off' | 'traceidratio';
  /** True if the sampling decision of the caller's trace takes precedence. */
  readonly isParentBased: boolean;
  /** Fraction of traces that `traceidratio` keeps, from 0 to 1. */
  readonly ratio: number;
};

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const addressForm = 'an address such as http://localhost:4318';
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;

/**
 * Returns undefined if no endpoint is set or OTEL_SDK_DISABLED is true. Invalid values are reported through
 * `variables`.
 */
export function readOtlp(variables: Variables): OtlpSettings | undefined {
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
  const sampler = choice('OTEL_TRACES_SAMPLER', samplers) ?? 'parentbased_always_on';
  const root = samplers.find(one => sampler.endsWith(one));
  return {
    tracesUrl,
    metricsUrl,
    headers,
    timeoutMs:
      number('OTEL_EXPORTER_OTLP_TIMEOUT', { least: 1, most: 60_000, whole: true }) ?? 10_000,
    intervalMs:
      number('OTEL_METRIC_EXPORT_INTERVAL', { least: 100, most: 86_400_000, whole: true }) ??
      60_000,
    gatherMs: number('OTEL_BSP_SCHEDULE_DELAY', { least: 1, most: 60_000, whole: true }) ?? 5_000,
    sampler: {
      root: root === 'always_off' || root === 'traceidratio' ? root : 'always_on',
      isParentBased: sampler.startsWith('parentbased_'),
      ratio: number('OTEL_TRACES_SAMPLER_ARG', { least: 0, most: 1, whole: false }) ?? 1,
    },
    resource: {
      'service.name': 'agenthub',
      ...pairsOf(text('OTEL_RESOURCE_ATTRIBUTES', value => pairsForm.test(value), pairsAllowed)),
      ...named(text('OTEL_SERVICE_NAME')),
    },
  };
}

const pairsForm = /^\s*[^=,\s]+\s*=[^,]*(?:,\s*[^=,\s]+\s*=[^,]*)*,?$/;
const pairsAllowed = 'comma-separated name=value pairs';

const named = (name: string | undefined) => name !== undefined && { 'service.name': name };

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
