import type { Variables } from './variables.ts';

const mebibyte = 2 ** 20;

/**
 * Format of OLLAMA_HOST, which Ollama reads too: optional scheme, host (IPv6 addresses in brackets), optional port.
 */
const ollamaHost =
  /^(?:(https?):\/\/)?([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i;

const keyPattern = /^[\x21-\x7e]+$/;
const keyForm = 'printable characters without spaces';

/** If this file is missing, the hub uses its built-in rule. A file that the user names must exist. */
export const defaultRulesFile = './configs/enhancement-rules.json';

/**
 * Reads the limits for all clients, and the settings of Ollama, Redis, Qdrant, the caches and the breaker. Invalid
 * values are reported through `variables`.
 */
export function readBackends({ text, secret, address, number, flag }: Variables) {
  /** For all clients together. */
  const limits = {
    maxConnections: number('MAX_CONNECTIONS', 1, 1_000_000) ?? 2_000,
    /** Sessions over streamable HTTP. If a client opens more, its session that was idle longest is ended. */
    maxSessionsPerClient: number('MAX_SESSIONS_PER_CLIENT', 1, 10_000) ?? 1_000,
    /** Total size of request bodies and messages that have not arrived completely. */
    maxUnfinishedBytes:
      number('MAX_UNFINISHED_BYTES', mebibyte, 64 * 1024 * mebibyte) ?? 32 * mebibyte,
    /** Total size of responses that clients have not read yet. */
    maxUnreadBytes: number('MAX_UNREAD_BYTES', mebibyte, 64 * 1024 * mebibyte) ?? 32 * mebibyte,
  };
  const host = address(
    'OLLAMA_HOST',
    value => ollamaHost.test(value) && URL.canParse(ollamaUrl(value)),
    'a host such as localhost, or an address such as http://localhost:11434',
  );
  const port = number('OLLAMA_PORT', 1, 65_535);
  const modelForm = 'the name of a model such as deepseek-r1:latest';
  return {
    limits,
    ollama: {
      /** Undefined: Ollama is not used. */
      url: host && ollamaUrl(host, port),
      /** For rules that name none. */
      model: text('OLLAMA_MODEL', /^\w[\w.:/-]*$/, modelForm) ?? 'deepseek-r1:latest',
      /** True if the hub pulls models that rules name and Ollama does not have. */
      isPulling: flag('OLLAMA_PULL'),
    },
    /** May contain a password, so it is never logged. Undefined: caches and breaker state are kept in memory. */
    redisUrl: withPassword(
      address('REDIS_URL', isRedisUrl, 'an address such as redis://localhost:6379'),
      secret('REDIS_PASSWORD', keyPattern, keyForm),
    ),
    qdrantKey: secret('QDRANT_API_KEY', keyPattern, keyForm),
    /** Undefined: vectors are stored in the data folder. */
    qdrantUrl: address(
      'QDRANT_URL',
      isQdrantUrl,
      'an address such as http://localhost:6333, without user and password',
    ),
    cache: {
      maxEntries: number('CACHE_MAX_SIZE', 1, 1_000_000) ?? 1000,
      // Below 1 MiB hardly a page fits; Redis and Node cannot store values above a few GiB.
      maxBytes: number('CACHE_MAX_BYTES', mebibyte, 4096 * mebibyte) ?? 32 * mebibyte,
      /** Minimum cosine similarity, from 0 to 1, for two prompts to count as the same. */
      similarityThreshold: number('CACHE_SIMILARITY_THRESHOLD', 0, 1, 'fraction') ?? 0.85,
    },
    breaker: {
      failureThreshold: number('CB_FAILURE_THRESHOLD', 1, 1000) ?? 3,
      // At most one day. Node's timers overflow after 24.8 days.
      recoveryMs: (number('CB_RECOVERY_TIMEOUT', 1, 86_400) ?? 30) * 1000,
    },
    rulesFile: text('ENHANCEMENT_RULES_CONFIG') ?? defaultRulesFile,
  };
}

/** Adds REDIS_PASSWORD to the URL, unless the URL already contains a password. */
function withPassword(address: string | undefined, password: string | undefined) {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || password === undefined || url.password !== '') return address;
  url.password = encodeURIComponent(password);
  return url.href;
}

/**
 * A port in OLLAMA_HOST takes precedence over OLLAMA_PORT. Without either, the scheme's default port is used, or
 * 11434 if there is no scheme.
 */
function ollamaUrl(host: string, port?: number): string {
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
