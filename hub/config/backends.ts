import { decodePercent } from '#core';
import type { Variables } from './variables.ts';

const mebibyte = 2 ** 20;

/** Format of OLLAMA_HOST: optional scheme, host (IPv6 addresses in brackets), optional port. */
const ollamaHost =
  /^(?:(https?):\/\/)?([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i;

const keyPattern = /^[\x21-\x7e]+$/;
const keyForm = 'printable characters without spaces';

/**
 * Default path of the rules file. If it is missing, the hub uses a built-in rule; a file that the user names must
 * exist.
 */
export const defaultRulesFile = './configs/enhancement-rules.json';

/** Reads the limits, and the settings of backends, caches and the breaker. Reports problems through `variables`. */
export function readBackends({ text, secret, address, number, flag }: Variables) {
  /** Limits for all clients together. */
  const limits = {
    maxConnections: number('MAX_CONNECTIONS', 1, 1_000_000) ?? 2_000,
    /** Maximum number of streamable HTTP sessions per client. One more ends the session that was idle longest. */
    maxSessionsPerClient: number('MAX_SESSIONS_PER_CLIENT', 1, 10_000) ?? 1_000,
    /** Maximum total size of incomplete request bodies and messages, in bytes. */
    maxUnfinishedBytes:
      number('MAX_UNFINISHED_BYTES', mebibyte, 64 * 1024 * mebibyte) ?? 32 * mebibyte,
    /** Maximum total size of responses that clients have not read yet, in bytes. */
    maxUnreadBytes: number('MAX_UNREAD_BYTES', mebibyte, 64 * 1024 * mebibyte) ?? 32 * mebibyte,
  };
  const host = address(
    'OLLAMA_HOST',
    value => ollamaHost.test(value) && URL.canParse(ollamaUrl(value)),
    'a host such as localhost, or an address such as http://localhost:11434',
  );
  const isOff = host?.toLowerCase() === 'off';
  const port = number('OLLAMA_PORT', 1, 65_535);
  const modelForm = 'the name of a model such as deepseek-r1:latest';
  return {
    limits,
    ollama: {
      /** URL of Ollama, undefined if OLLAMA_HOST is not set or `off`. */
      url: host === undefined || isOff ? undefined : ollamaUrl(host, port),
      /** True if OLLAMA_HOST is `off`. Otherwise a hub without a URL uses an Ollama that answers on this machine. */
      isOff,
      /** True if OLLAMA_HOST is not set and an Ollama answered on this machine. */
      isFound: false,
      /** Model for rules that name none. */
      model: text('OLLAMA_MODEL', /^\w[\w.:/-]*$/, modelForm) ?? 'deepseek-r1:latest',
      /** True if the hub pulls models that rules name and Ollama does not have. */
      isPulling: flag('OLLAMA_PULL'),
      /** Maximum number of concurrent requests per model in Ollama. */
      parallel: number('OLLAMA_NUM_PARALLEL', 1, 1000) ?? 1,
    },
    /**
     * URL of Redis, undefined to keep caches and breaker state in memory. Never logged, as it may contain a password.
     */
    redisUrl: withPassword(
      address('REDIS_URL', isRedisUrl, 'an address such as redis://localhost:6379'),
      secret('REDIS_PASSWORD', keyPattern, keyForm),
    ),
    qdrantKey: secret('QDRANT_API_KEY', keyPattern, keyForm),
    /** URL of Qdrant, undefined to store vectors in the data folder. */
    qdrantUrl: address(
      'QDRANT_URL',
      isBaseUrl,
      'an address such as http://localhost:6333, without user and password',
    ),
    cache: {
      maxEntries: number('CACHE_MAX_SIZE', 1, 1_000_000) ?? 1000,
      // Below 1 MiB hardly any entries fit; Redis and Node cannot store values above a few GiB.
      maxBytes: number('CACHE_MAX_BYTES', mebibyte, 4096 * mebibyte) ?? 32 * mebibyte,
      /** Minimum cosine similarity of two prompts, from 0 to 1; undefined to calibrate it. */
      similarityThreshold: number('CACHE_SIMILARITY_THRESHOLD', 0, 1, 'fraction'),
    },
    breaker: {
      failureThreshold: number('CB_FAILURE_THRESHOLD', 1, 1000) ?? 3,
      // At most one day, because Node's timers overflow after 24.8 days.
      recoveryMs: (number('CB_RECOVERY_TIMEOUT', 1, 86_400) ?? 30) * 1000,
    },
    rulesFile: text('ENHANCEMENT_RULES_CONFIG') ?? defaultRulesFile,
  };
}

/** Adds REDIS_PASSWORD to a Redis URL, unless the URL already contains a password. */
function withPassword(address: string | undefined, password: string | undefined) {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || password === undefined || url.password !== '') return address;
  url.password = encodeURIComponent(password);
  return url.href;
}

/**
 * Returns the URL of Ollama. A port in OLLAMA_HOST overrides OLLAMA_PORT. Default: that of the scheme; without scheme
 * 11434.
 */
function ollamaUrl(host: string, port?: number): string {
  const [, scheme, name = '', own] = ollamaHost.exec(host) ?? [];
  const usual = scheme === undefined ? ':11434' : '';
  const at = own ?? port;
  return `${scheme ?? 'http'}://${name}${at === undefined ? usual : `:${at}`}`.toLowerCase();
}

/** True for a Redis URL whose path is empty or a database number. */
function isRedisUrl(value: string): boolean {
  const url = URL.parse(value);
  const known = url !== null && ['redis:', 'rediss:'].includes(url.protocol);
  return known && url.hostname !== '' && /^\/?\d*$/.test(url.pathname);
}

/** True for an HTTP URL without user and password, which fetch rejects, and without query and fragment. */
export function isBaseUrl(value: string): boolean {
  const url = URL.parse(value);
  return (
    isHttp(value) && url !== null && url.username + url.password + url.search + url.hash === ''
  );
}

const roots = ['always_on', 'always_off', 'traceidratio'] as const;
const addressForm = 'an address such as http://localhost:4318';
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Reads OpenTelemetry's standard variables. Returns undefined without an endpoint, or if OTEL_SDK_DISABLED is true. */
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
    tracesUrl,
    metricsUrl,
    /** Headers of each export request. Never logged, as they may contain credentials. */
    headers,
    timeoutMs: number('OTEL_EXPORTER_OTLP_TIMEOUT', 1, 60_000) ?? 10_000,
    intervalMs: number('OTEL_METRIC_EXPORT_INTERVAL', 100, 86_400_000) ?? 60_000,
    /** Time to collect spans before an export, in ms. */
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

/**
 * Parses `name=value` pairs separated by commas. Values are percent-encoded as in W3C Baggage (OpenTelemetry
 * specification).
 */
function pairsOf(text = ''): Readonly<Record<string, string>> {
  const pairs = text.split(',').map(pair => /^\s*([^=]+?)\s*=\s*(.*?)\s*$/.exec(pair) ?? []);
  return Object.fromEntries(
    pairs.flatMap(([, name, value = '']) =>
      name === undefined ? [] : [[name, decodePercent(value)]],
    ),
  );
}

const isHttp = (value: string) => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '');

/**
 * Appends the path of a signal, such as `/v1/traces`, to the common endpoint. An endpoint of one signal is used as it
 * is.
 */
const signalUrl = (endpoint: string, signal: string) =>
  `${endpoint.replace(/\/+$/, '')}/v1/${signal}`;
