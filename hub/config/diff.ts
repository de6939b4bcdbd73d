import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';
import { fixedNetwork } from './network.ts';
import type { ServerConfig } from './normalize.ts';
import type { Settings } from './settings.ts';

/**
 * How a change is applied. `switch`: start or stop the server, because it was enabled or disabled. `replace`: start a
 * new process or connection, switch to it, then stop the old one. `apply`: the running instance uses the new values
 * from now on.
 */
type Effect = 'switch' | 'replace' | 'apply';

/** Effect of a change of each key of a server. A missing key is a compile error. */
const effects: Readonly<Record<keyof Omit<ServerConfig, 'name'>, Effect>> = {
  enabled: 'switch',
  origin: 'apply',
  heldBack: 'apply',
  // No key of the config file sets `hubCapabilities`.
  hubCapabilities: 'apply',
  isUnlisted: 'apply',
  // `launch` changes too once the secrets can be read.
  secretFaults: 'apply',
  entryDigest: 'apply',
  description: 'apply',
  tags: 'apply',
  autoStart: 'apply',
  isManual: 'apply',
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
  tools: 'apply',
  cache: 'apply',
  pinning: 'apply',
  instanceIdleMs: 'apply',
  // The reader of the server's output gets the limit when it is created.
  maxLineBytes: 'replace',
  instance: 'replace',
  // The era (protocol generation) is negotiated in the handshake.
  era: 'replace',
  // The handshake tells session instances whether the hub offers sampling.
  sampling: 'replace',
  launch: 'replace',
  secretEnv: 'replace',
};

/** Keys of the hub's own config that a reload applies. All others need a restart (see `settingsToRestartFor`). */
const hubKeys: readonly (keyof Config)[] = [
  'managementTools',
  'tokens',
  'clients',
  'perSession',
  'audit',
  'activity',
  'agents',
  'tasks',
  'models',
  'policy',
  'profiles',
  'fanOut',
  'approvals',
  'catalog',
  'repositories',
  'documentation',
];

/** Keys of the config file that have another name in `Config`. */
const fileKeys: { readonly [key in keyof Config]?: string } = {
  managementTools: 'management_tools',
  perSession: 'limits',
  fanOut: 'fan_out',
};

type Change = {
  readonly before: ServerConfig;
  readonly after: ServerConfig;
  readonly keys: readonly (keyof typeof effects)[];
};

export type Difference = ReturnType<typeof diffConfigs>;

/**
 * Returns the differences of two configs. Lists are in the order of the new config, `removed` in that of the old one.
 */
export function diffConfigs(before: Config, after: Config) {
  const old = new Map(before.servers.map(server => [server.name, server]));
  const names = new Set(after.servers.map(({ name }) => name));
  const pairs = after.servers.flatMap(server => {
    const was = old.get(server.name);
    return was ? [{ before: was, after: server, keys: keysOf(was, server) }] : [];
  });
  const isSameNaming = isDeepStrictEqual(before.naming, after.naming);
  const common = before.servers.filter(({ name }) => names.has(name));
  return {
    added: after.servers.filter(({ name }) => !old.has(name)),
    removed: before.servers.filter(({ name }) => !names.has(name)),
    changed: pairs
      .filter(({ keys }) => keys.length > 0)
      .map(pair => ({ ...pair, effect: effectOf(pair) })),
    unchanged: pairs.filter(({ keys }) => keys.length === 0).map(pair => pair.after),
    /** Set if the naming changed. No server is restarted, but all public names may differ. */
    naming: isSameNaming ? undefined : { before: before.naming, after: after.naming },
    /** Changed keys of the hub's own config that apply to a running hub. */
    hub: hubKeys.filter(key => !isDeepStrictEqual(before[key], after[key])),
    /**
     * True if servers in both configs changed their relative order, which decides which server gets a disputed public
     * name.
     */
    reordered: pairs.some((pair, index) => pair.after.name !== common[index]?.name),
  };
}

/** Returns the changed keys of the config file besides those of its servers. */
export const changedKeysOf = ({ naming, hub }: Difference): readonly string[] => [
  ...(naming ? ['naming'] : []),
  ...hub.map(key => fileKeys[key] ?? key),
];

export function isSameConfig(difference: Difference): boolean {
  const { added, removed, changed, hub, naming, reordered } = difference;
  return added.length + removed.length + changed.length + hub.length === 0 && !naming && !reordered;
}

const keysOf = (before: ServerConfig, after: ServerConfig) =>
  keysIn(effects).filter(key => !isDeepStrictEqual(before[key], after[key]));

function effectOf({ before, after, keys }: Change): Effect {
  if (keys.includes('enabled')) return 'switch';
  // A disabled server has no running instance to replace.
  const isReplaced = (key: keyof typeof effects) =>
    effects[key] === 'replace' && !(key === 'launch' && isSameContainer(before, after));
  return after.enabled && keys.some(isReplaced) ? 'replace' : 'apply';
}

/** True if the launches differ only in network targets that a running container can adopt without being replaced. */
function isSameContainer(before: ServerConfig, after: ServerConfig): boolean {
  return isDeepStrictEqual(fixedLaunch(before), fixedLaunch(after));
}

const fixedLaunch = ({ launch }: ServerConfig) =>
  launch.kind === 'remote'
    ? launch
    : { ...launch, sandbox: { ...launch.sandbox, network: fixedNetwork(launch.sandbox.network) } };

/** Environment variables of each setting. Changes take effect only after a restart of the hub. */
const variables: Readonly<Record<keyof Settings, string>> = {
  host: 'ROUTER_HOST',
  port: 'ROUTER_PORT',
  token: 'ROUTER_TOKEN',
  administration: 'ROUTER_ADMINISTRATION',
  tls: 'ROUTER_TLS_CERT, ROUTER_TLS_KEY or another variable that starts with ROUTER_TLS_',
  allowedHosts: 'ROUTER_ALLOWED_HOSTS',
  allowedOrigins: 'ROUTER_ALLOWED_ORIGINS',
  inContainer: 'AGENTHUB_IN_CONTAINER',
  agents: 'IDLE_TIMEOUT_MINUTES, CONTAINER_PORT or DOCKER_NETWORK',
  dataDir: 'DATA_DIR',
  dataVolume: 'DATA_VOLUME',
  serversFile: 'MCP_SERVERS_CONFIG',
  logLevel: 'LOG_LEVEL',
  logFormat: 'LOG_FORMAT',
  hubId: 'HUB_ID',
  hubName: 'HUB_NAME',
  dockerHost: 'DOCKER_HOST',
  build: 'BUILD_MEMORY or BUILD_CPUS',
  ollama: 'OLLAMA_HOST, OLLAMA_PORT, OLLAMA_MODEL, OLLAMA_PULL or OLLAMA_NUM_PARALLEL',
  redisUrl: 'REDIS_URL',
  deployment: 'DEPLOYMENT_NAME',
  qdrantUrl: 'QDRANT_URL',
  qdrantKey: 'QDRANT_API_KEY',
  networks: 'ROUTER_NETWORKS',
  cache: 'CACHE_MAX_SIZE, CACHE_MAX_BYTES or CACHE_SIMILARITY_THRESHOLD',
  breaker: 'CB_FAILURE_THRESHOLD or CB_RECOVERY_TIMEOUT',
  rulesFile: 'ENHANCEMENT_RULES_CONFIG',
  limits: 'MAX_CONNECTIONS, MAX_SESSIONS_PER_CLIENT, MAX_UNFINISHED_BYTES or MAX_UNREAD_BYTES',
  otlp: 'OTEL_EXPORTER_OTLP_ENDPOINT or another variable that starts with OTEL_',
};

/** Returns the variables whose settings differ. A reload logs only their names, because the values may be secret. */
export function settingsToRestartFor(before: Settings, after: Settings): readonly string[] {
  return keysIn(variables)
    .filter(key => !isDeepStrictEqual(before[key], after[key]))
    .map(key => variables[key]);
}

function keysIn<K extends string>(table: Readonly<Record<K, string>>): readonly K[] {
  const isKey = (key: string): key is K => Object.hasOwn(table, key);
  return Object.keys(table).filter(isKey);
}
