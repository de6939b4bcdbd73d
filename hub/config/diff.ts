import { isDeepStrictEqual } from 'node:util';
import type { Config, Naming, ServerConfig, Settings } from './config.ts';

/** What must be done to a server that was changed. */
export type Effect =
  /** It was switched on or off: it is started as if it were new, or stopped. */
  | 'switch'
  /** It needs a new process, or a new connection to where it runs: start the new, swap, stop the old. */
  | 'replace'
  /** What runs goes on, and the new values count from now on. */
  | 'apply';

export type ServerChange = {
  readonly before: ServerConfig;
  readonly after: ServerConfig;
  readonly effect: Effect;
  /** The keys whose values differ, in the order of the table below. */
  readonly keys: readonly (keyof ServerConfig)[];
};

/** What lies between two configs. Lists are in the order of the newer one, `removed` of the older. */
export type Difference = {
  readonly added: readonly ServerConfig[];
  readonly removed: readonly ServerConfig[];
  readonly changed: readonly ServerChange[];
  readonly unchanged: readonly ServerConfig[];
  /** How tools are named: nothing is restarted, and all public names may be others. */
  readonly naming: { readonly before: Naming; readonly after: Naming } | undefined;
  /** Servers that are in both stand in another order, which decides who keeps a name. */
  readonly reordered: boolean;
};

/** What becomes of the process when a key changes. A key that is missing here does not compile. */
const effects: Readonly<Record<keyof Omit<ServerConfig, 'name' | 'enabled'>, 'replace' | 'apply'>> =
  {
    origin: 'apply',
    heldBack: 'apply',
    description: 'apply',
    tags: 'apply',
    autoStart: 'apply',
    restart: 'apply',
    maxRestarts: 'apply',
    healthCheckIntervalMs: 'apply',
    startTimeoutMs: 'apply',
    callTimeoutMs: 'apply',
    inputTimeoutMs: 'apply',
    maxConcurrentCalls: 'apply',
    maxQueuedCalls: 'apply',
    maxNotifications: 'apply',
    idleStopMs: 'apply',
    maxInstances: 'apply',
    instanceIdleMs: 'apply',
    // The reader of the server's output is made with it.
    maxLineBytes: 'replace',
    instance: 'replace',
    // The era was agreed upon when the server was greeted.
    era: 'replace',
    launch: 'replace',
  };

/** Compares two configs, server by server. Servers are the same by name. Pure. */
export function diffConfigs(before: Config, after: Config): Difference {
  const old = new Map(before.servers.map(server => [server.name, server]));
  const names = new Set(after.servers.map(({ name }) => name));
  const pairs = after.servers.flatMap(server => {
    const was = old.get(server.name);
    return was ? [{ before: was, after: server, keys: keysOf(was, server) }] : [];
  });
  const isSame = isDeepStrictEqual(before.naming, after.naming);
  const common = before.servers.filter(({ name }) => names.has(name));
  return {
    added: after.servers.filter(({ name }) => !old.has(name)),
    removed: before.servers.filter(({ name }) => !names.has(name)),
    changed: pairs
      .filter(({ keys }) => keys.length > 0)
      .map(pair => ({ ...pair, effect: effectOf(pair) })),
    unchanged: pairs.filter(({ keys }) => keys.length === 0).map(pair => pair.after),
    naming: isSame ? undefined : { before: before.naming, after: after.naming },
    reordered: pairs.some((pair, index) => pair.after.name !== common[index]?.name),
  };
}

/** True where nothing at all has changed. */
export function isSameConfig({ added, removed, changed, naming, reordered }: Difference): boolean {
  return added.length + removed.length + changed.length === 0 && !naming && !reordered;
}

function keysOf(before: ServerConfig, after: ServerConfig): readonly (keyof ServerConfig)[] {
  const keys: readonly (keyof ServerConfig)[] = ['enabled', ...keysIn(effects)];
  return keys.filter(key => !isDeepStrictEqual(before[key], after[key]));
}

function effectOf({ before, after, keys }: Omit<ServerChange, 'effect'>): Effect {
  if (before.enabled !== after.enabled) return 'switch';
  // Of a server that is switched off nothing runs that could be replaced.
  if (!after.enabled) return 'apply';
  return keys.some(key => key !== 'name' && key !== 'enabled' && effects[key] === 'replace')
    ? 'replace'
    : 'apply';
}

/** The variable that sets each setting: none of them takes effect before the hub is started again. */
const variables: Readonly<Record<keyof Settings, string>> = {
  host: 'ROUTER_HOST',
  port: 'ROUTER_PORT',
  token: 'ROUTER_TOKEN',
  administration: 'ROUTER_ADMINISTRATION',
  tls: 'ROUTER_TLS_CERT and ROUTER_TLS_KEY',
  allowedHosts: 'ROUTER_ALLOWED_HOSTS',
  allowedOrigins: 'ROUTER_ALLOWED_ORIGINS',
  inContainer: 'AGENTHUB_IN_CONTAINER',
  dataDir: 'DATA_DIR',
  serversFile: 'MCP_SERVERS_CONFIG',
  logLevel: 'LOG_LEVEL',
  logFormat: 'LOG_FORMAT',
  hubId: 'HUB_ID',
  hubName: 'HUB_NAME',
  dockerHost: 'DOCKER_HOST',
  build: 'BUILD_MEMORY or BUILD_CPUS',
  ollama: 'OLLAMA_HOST, OLLAMA_PORT, OLLAMA_MODEL or OLLAMA_PULL',
  redisUrl: 'REDIS_URL',
  qdrantUrl: 'QDRANT_URL',
  qdrantKey: 'QDRANT_API_KEY',
  networks: 'ROUTER_NETWORKS',
  cache: 'CACHE_MAX_SIZE, CACHE_MAX_BYTES or CACHE_SIMILARITY_THRESHOLD',
  breaker: 'CB_FAILURE_THRESHOLD or CB_RECOVERY_TIMEOUT',
  rulesFile: 'ENHANCEMENT_RULES_CONFIG',
  limits: 'MAX_CONNECTIONS, MAX_SESSIONS_PER_CLIENT, MAX_UNFINISHED_BYTES or MAX_UNREAD_BYTES',
  otlp: 'OTEL_EXPORTER_OTLP_ENDPOINT and what else begins with OTEL_',
};

/**
 * The variables of a `.env` that was edited which differ from those in force: a reload names them and
 * does not apply them. Their values may be secret, and are not told. Pure.
 */
export function settingsToRestartFor(before: Settings, after: Settings): readonly string[] {
  return keysIn(variables)
    .filter(key => !isDeepStrictEqual(before[key], after[key]))
    .map(key => variables[key]);
}

/** The keys of a table, as the type of the table knows them. */
function keysIn<K extends string>(table: Readonly<Record<K, string>>): readonly K[] {
  const isKey = (key: string): key is K => Object.hasOwn(table, key);
  return Object.keys(table).filter(isKey);
}
