import type { Settings } from './config.ts';
import type { Variables } from './variables.ts';

type Backends = Pick<
  Settings,
  'ollama' | 'redisUrl' | 'qdrantUrl' | 'qdrantKey' | 'cache' | 'breaker' | 'rulesFile'
>;

/** Scheme, host (an IPv6 address in brackets) and port of OLLAMA_HOST, which Ollama reads as well. */
const ollamaHost =
  /^(?:(https?):\/\/)?([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i;
const modelName = /^\w[\w.:/-]*$/;

/** Without it a built-in rule holds; another file must be there. */
export const defaultRulesFile = './configs/enhancement-rules.json';

/** The settings of what prompts, caches and breakers need. What is wrong with them is told by `variables`. */
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
      // Below a megabyte hardly a page fits; Redis and Node hold no value of more than a few gigabytes.
      maxBytes:
        number('CACHE_MAX_BYTES', { least: 1_048_576, most: 4_294_967_296, whole: true }) ??
        33_554_432,
      similarityThreshold:
        number('CACHE_SIMILARITY_THRESHOLD', { least: 0, most: 1, whole: false }) ?? 0.85,
    },
    breaker: {
      failureThreshold: number('CB_FAILURE_THRESHOLD', { least: 1, most: 1000, whole: true }) ?? 3,
      // A day: timers of Node reach no further than 24 of them.
      recoveryMs:
        (number('CB_RECOVERY_TIMEOUT', { least: 1, most: 86_400, whole: true }) ?? 30) * 1000,
    },
    rulesFile: text('ENHANCEMENT_RULES_CONFIG') ?? defaultRulesFile,
  };
}

const keyPattern = /^[\x21-\x7e]+$/;
const keyForm = 'printable characters without spaces';

/** A password that the address itself has goes before one beside it. */
function withPassword(address: string | undefined, password: string | undefined) {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || password === undefined || url.password !== '') return address;
  url.password = encodeURIComponent(password);
  return url.href;
}

const isOllamaHost = (value: string) =>
  ollamaHost.test(value) && URL.canParse(ollamaUrl(value, undefined));

/** A port in the host goes before OLLAMA_PORT. Without both it is that of the scheme, or Ollama's own. */
function ollamaUrl(host: string, port: number | undefined): string {
  const [, scheme, name = '', own] = ollamaHost.exec(host) ?? [];
  const usual = scheme === undefined ? ':11434' : '';
  const at = own ?? port;
  return `${scheme ?? 'http'}://${name}${at === undefined ? usual : `:${at}`}`.toLowerCase();
}

/** A path may be the number of a database. */
function isRedisUrl(value: string): boolean {
  const url = URL.parse(value);
  const known = url !== null && ['redis:', 'rediss:'].includes(url.protocol);
  return known && url.hostname !== '' && /^\/?\d*$/.test(url.pathname);
}

/** fetch takes no password in an address. */
function isQdrantUrl(value: string): boolean {
  const url = URL.parse(value);
  const known = url !== null && ['http:', 'https:'].includes(url.protocol);
  return known && url.username + url.password + url.search + url.hash === '';
}
