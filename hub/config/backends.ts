import type { Settings } from './config.ts';
import type { Variables } from './variables.ts';

type Backends = Pick<
  Settings,
  'ollama' | 'redisUrl' | 'qdrantUrl' | 'qdrantKey' | 'cache' | 'breaker' | 'rulesFile'
>;

/**
 * Format of OLLAMA_HOST, which Ollama reads too: optional scheme, host (IPv6 addresses in brackets), optional port.
 */
const ollamaHost =
  /^(?:(https?):\/\/)?([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i;
const modelName = /^\w[\w.:/-]*$/;

/** If this file is missing, the hub uses its built-in rule. A file that the user names must exist. */
export const defaultRulesFile = './configs/enhancement-rules.json';

/**
 * Reads the settings of Ollama, Redis, Qdrant, the caches and the breaker. Invalid values are reported through
 * `variables`.
 */
export function readBackends({ text, secret, address, number, choice }: Variables): Backends {
  const host = address(
    'OLLAMA_HOST',
    isOllamaHost,
    'a host such as localhost, or an address such as http://localhost:11434',
  );
  const port = number('OLLAMA_PORT', { least: 1, most: 65_535, whole: true });
  return {
    ollama: {
      url: host === undefined ? undefined : ollamaUrl(host, port),
      model:
        text(
          'OLLAMA_MODEL',
          value => modelName.test(value),
          'the name of a model such as deepseek-r1:latest',
        ) ?? 'deepseek-r1:latest',
      isPulling: ['1', 'true'].includes(choice('OLLAMA_PULL', ['1', '0', 'true', 'false']) ?? '0'),
    },
    redisUrl: withPassword(
      address('REDIS_URL', isRedisUrl, 'an address such as redis://localhost:6379'),
      secret('REDIS_PASSWORD', keyPattern, keyForm),
    ),
    qdrantKey: secret('QDRANT_API_KEY', keyPattern, keyForm),
    qdrantUrl: address(
      'QDRANT_URL',
      isQdrantUrl,
      'an address such as http://localhost:6333, without user and password',
    ),
    cache: {
      maxEntries: number('CACHE_MAX_SIZE', { least: 1, most: 1_000_000, whole: true }) ?? 1000,
      // Below 1 MiB hardly a page fits; Redis and Node cannot store values above a few GiB.
      maxBytes:
        number('CACHE_MAX_BYTES', { least: 1_048_576, most: 4_294_967_296, whole: true }) ??
        33_554_432,
      similarityThreshold:
        number('CACHE_SIMILARITY_THRESHOLD', { least: 0, most: 1, whole: false }) ?? 0.85,
    },
    breaker: {
      failureThreshold: number('CB_FAILURE_THRESHOLD', { least: 1, most: 1000, whole: true }) ?? 3,
      // At most one day. Node's timers overflow after 24.8 days.
      recoveryMs:
        (number('CB_RECOVERY_TIMEOUT', { least: 1, most: 86_400, whole: true }) ?? 30) * 1000,
    },
    rulesFile: text('ENHANCEMENT_RULES_CONFIG') ?? defaultRulesFile,
  };
}

const keyPattern = /^[\x21-\x7e]+$/;
const keyForm = 'printable characters without spaces';

/** Adds REDIS_PASSWORD to the URL, unless the URL already contains a password. */
function withPassword(address: string | undefined, password: string | undefined) {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || password === undefined || url.password !== '') return address;
  url.password = encodeURIComponent(password);
  return url.href;
}

const isOllamaHost = (value: string) =>
  ollamaHost.test(value) && URL.canParse(ollamaUrl(value, undefined));

/**
 * A port in OLLAMA_HOST takes precedence over OLLAMA_PORT. Without either, the scheme's default port is used, or
 * 11434 if there is no scheme.
 */
function ollamaUrl(host: string, port: number | undefined): string {
  const [, scheme, name = '', own] = ollamaHost.exec(host) ?? [];
  const usual = scheme === undefined ? ':11434' : '';
  const at = own ?? port;
  return `${scheme ?? 'http'}://${name}${at === undefined ? usual : `:${at}`}`.toLowerCase();
}

/** The path may only be a database number. */
function isRedisUrl(value: string): boolean {
  const url = URL.parse(value);
  const known = url !== null && ['redis:', 'rediss:'].includes(url.protocol);
  return known && url.hostname !== '' && /^\/?\d*$/.test(url.pathname);
}

/** fetch rejects URLs that contain a user or password. */
function isQdrantUrl(value: string): boolean {
  const url = URL.parse(value);
  const known = url !== null && ['http:', 'https:'].includes(url.protocol);
  return known && url.username + url.password + url.search + url.hash === '';
}
