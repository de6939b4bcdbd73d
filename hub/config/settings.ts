import { isIPv6 } from 'node:net';
import { HubError } from '#core';
import { readBackends, readOtlp } from './backends.ts';
import type { Config } from './config.ts';
import { type Environment, createVariables, mergeEnvironment } from './variables.ts';
import { bytesOf, sizePattern } from './size.ts';

export const defaultServersFile = './configs/mcp-servers.json';
export const defaultDataDir = './data';
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** Pattern of a host name or IPv4 address, without scheme, port or path. */
const hostName = /^[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?$/i;
const clientAuths = ['required', 'requested'] as const;
const hubName = /^[a-z0-9][a-z0-9_-]{0,31}$/;
const hubNameForm =
  '1 to 32 lowercase letters, digits, "_" and "-", starting with a letter or digit';

/** Settings from the environment, `.env` and the config file (spec 1.3). */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

type FileSettings = Pick<Config, 'listen' | 'token' | 'administration' | 'logLevel'>;

/**
 * Reads the settings (spec 1.3). Precedence: process environment, `.env`, config file. An empty variable counts as
 * unset. Paths stay as written. Throws HUB_CONFIG_INVALID with all problems, and HUB_LISTEN_REFUSED for an address that
 * other machines can reach without token and TLS (spec G6).
 */
export function readSettings(env: Environment, dotenv = '', manifest: FileSettings = {}) {
  const { whole, keys } = withFileSettings(mergeEnvironment(env, dotenv), manifest);
  const variables = createVariables(whole, name =>
    keys[name] === undefined ? name : `${keys[name]} in the config`,
  );
  const { text, secret, choice, flag, list, address, number, fail, done } = variables;
  const certFile = text('ROUTER_TLS_CERT');
  const keyFile = text('ROUTER_TLS_KEY');
  if ((certFile === undefined) !== (keyFile === undefined))
    fail(
      certFile === undefined ? 'ROUTER_TLS_CERT' : 'ROUTER_TLS_KEY',
      'is not set, but TLS needs a certificate and a key. Set both or neither',
    );
  const caFile = text('ROUTER_TLS_CLIENT_CA');
  const clientAuth = choice('ROUTER_TLS_CLIENT_AUTH', clientAuths);
  if (caFile !== undefined && certFile === undefined && keyFile === undefined)
    fail(
      'ROUTER_TLS_CLIENT_CA',
      'clients can present certificates over TLS only. Set ROUTER_TLS_CERT and ROUTER_TLS_KEY too',
    );
  if (caFile === undefined && clientAuth !== undefined)
    fail(
      'ROUTER_TLS_CLIENT_AUTH',
      'without ROUTER_TLS_CLIENT_CA the hub asks no client for a certificate. Set ROUTER_TLS_CLIENT_CA to the file of the authority that signs them',
    );
  const clients = caFile !== undefined && { caFile, isRequired: clientAuth !== 'requested' };
  const otlp = readOtlp(variables);
  const deployment = text('DEPLOYMENT_NAME', hubName, hubNameForm);
  const settings = {
    host: withoutBrackets(
      text('ROUTER_HOST', isHost, 'an IP address or a host name') ?? '127.0.0.1',
    ),
    port: Number(
      text('ROUTER_PORT', isPort, 'a number from 0 to 65535; 0 chooses a free port') ?? 9090,
    ),
    /** Bearer token that every request must carry. Required on any address but loopback. */
    token: secret(
      'ROUTER_TOKEN',
      /^[\x21-\x7e]{16,}$/,
      'at least 16 printable characters without spaces, such as the output of `openssl rand -hex 32`',
    ),
    /** If `off`, the hub cannot be administered over HTTP, even with the owner's key. */
    administration: choice('ROUTER_ADMINISTRATION', ['on', 'off']) ?? 'on',
    tls:
      certFile !== undefined && keyFile !== undefined
        ? { certFile, keyFile, ...(clients && { clients }) }
        : undefined,
    /**
     * Host names of the container's addresses on which a hub in a container listens, besides loopback. If empty, the
     * hub listens on `host`.
     */
    networks: list('ROUTER_NETWORKS', isHost, 'comma-separated host names of this container'),
    /** Host names of the hub in requests of clients, besides localhost. */
    allowedHosts: list(
      'ROUTER_ALLOWED_HOSTS',
      isHost,
      'comma-separated host names, without scheme, port and path',
    ).map(withBrackets),
    /** Origins of web pages that may call the hub, besides the hub's own origin. */
    allowedOrigins: list(
      'ROUTER_ALLOWED_ORIGINS',
      /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+$/i,
      'comma-separated origins such as https://app.example, without a path',
    ),
    /**
     * True in the hub's own image, which sets this variable. The published port then limits access, so the hub may
     * listen on all addresses.
     */
    inContainer: flag('AGENTHUB_IN_CONTAINER'),
    dataDir: text('DATA_DIR') ?? defaultDataDir,
    /** Name of the volume that the engine mounts at the data folder of a hub in a container. */
    dataVolume: text(
      'DATA_VOLUME',
      /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$/,
      'the name of the volume at DATA_DIR, as docker volume ls shows it',
    ),
    serversFile: text('MCP_SERVERS_CONFIG') ?? defaultServersFile,
    logLevel: choice('LOG_LEVEL', logLevels) ?? 'info',
    /** Log format. If undefined, `pretty` on a terminal and `json` otherwise. */
    logFormat: choice('LOG_FORMAT', ['json', 'pretty']),
    /** Id in the labels of everything that the hub creates in the engine. Default: the id stored in the data folder. */
    hubId: text(
      'HUB_ID',
      /^[a-z0-9][a-z0-9_.-]{0,63}$/,
      'up to 64 lowercase letters, digits, "_", "." and "-", starting with a letter or digit',
    ),
    /** Prefix of the names of containers, volumes and the compose project. */
    hubName: text('HUB_NAME', hubName, hubNameForm) ?? 'agenthub',
    /** Address of the Docker engine. If undefined, the platform's default. */
    dockerHost: address(
      'DOCKER_HOST',
      /^(?:unix|npipe|tcp|http|https|ssh):\/\/./,
      'an address such as unix:///var/run/docker.sock or tcp://127.0.0.1:2375',
    ),
    build: {
      memoryBytes: bytesOf(
        text('BUILD_MEMORY', isBuildMemory, 'a size from 64m to 32g, such as 2g') ?? '2g',
      ),
      cpus: number('BUILD_CPUS', 0.1, 64, 'fraction') ?? 2,
    },
    agents: {
      /** Time without messages after which the container of an agent is stopped, in ms. */
      idleMs: (number('IDLE_TIMEOUT_MINUTES', 1, 10_080) ?? 30) * 60_000,
      /** Port of the HTTP API inside the container of an agent. */
      port: number('CONTAINER_PORT', 1_024, 65_535) ?? 8080,
      /** First part of the names of agents' networks, which are called `<network>-<id>`. */
      network:
        text(
          'DOCKER_NETWORK',
          /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$/,
          'up to 64 letters, digits, "_", "." and "-", starting with a letter or digit',
        ) ?? 'agent-host-net',
    },
    ...readBackends(variables),
    ...(otlp && { otlp }),
    /** First part of the names of all keys in Redis. Default: `agenthub`. */
    ...(deployment !== undefined && { deployment }),
  };
  done();
  refuseOpenAddress(settings, keys['ROUTER_HOST']);
  refuseSharedId(settings);
  return settings;
}

/**
 * Adds the hub's settings in the config file to the environment, whose own variables take precedence. `keys`: keys in the
 * file of the settings that came from it, by variable.
 */
function withFileSettings(
  env: Environment,
  { listen, token, administration, logLevel }: FileSettings,
) {
  const fromFile = [
    ['ROUTER_HOST', 'listen.host', listen?.host],
    ['ROUTER_PORT', 'listen.port', listen?.port?.toString()],
    ['ROUTER_TOKEN', 'token', token],
    ['ROUTER_ADMINISTRATION', 'administration', administration],
    ['LOG_LEVEL', 'logLevel', logLevel],
  ] as const;
  const used = fromFile.filter(([name, , value]) => !env[name] && value !== undefined);
  const whole: Environment = {
    ...env,
    ...Object.fromEntries(used.map(([name, , value]) => [name, value])),
  };
  const keys: Environment = Object.fromEntries(used.map(([name, key]) => [name, key]));
  return { whole, keys };
}

/** Returns the data folder as written, for callers that need no other setting. */
export const dataDirOf = (env: Environment): string => env['DATA_DIR']?.trim() || defaultDataDir;

/** Returns the folder of mounted secrets; by default that of Docker. */
export const secretsFolderOf = (env: Environment): string =>
  env['AGENTHUB_SECRETS_DIR']?.trim() || '/run/secrets';

/**
 * Refuses an address that other machines can reach without token and TLS. A hub in a container may listen on all
 * addresses, because its published port limits access. `key`: key of the address in the config, if it was set there.
 */
function refuseOpenAddress({ host, token, tls, inContainer }: Settings, key?: string): void {
  if (isLoopback(host)) return;
  if (inContainer && (host === '0.0.0.0' || host === '::')) return;
  const lacking = [
    ...(token === undefined && !tls?.clients?.isRequired ? ['ROUTER_TOKEN'] : []),
    ...(tls ? [] : ['ROUTER_TLS_CERT and ROUTER_TLS_KEY']),
  ];
  if (lacking.length === 0) return;
  throw new HubError(
    'HUB_LISTEN_REFUSED',
    `${key ? `${key} in the config` : 'ROUTER_HOST'}: ${JSON.stringify(host)} is reachable from other machines, which requires a token and TLS. Set ${lacking.join(', ')}, or ${key ? `${key} to ` : 'ROUTER_HOST='}127.0.0.1`,
  );
}

/**
 * Refuses HUB_ID outside of a container. A hub removes containers that carry its id and are not its own, so two hubs
 * must not share one id.
 */
function refuseSharedId({ hubId, inContainer }: Settings): void {
  if (hubId === undefined || inContainer) return;
  throw new HubError(
    'HUB_CONFIG_INVALID',
    'HUB_ID: is only for a hub in a container, where compose sets it. Remove it: otherwise the id is kept in DATA_DIR, protected by a lock',
  );
}

const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);

const gib = 1024 ** 3;
const isBuildMemory = (value: string) =>
  sizePattern.test(value) && bytesOf(value) >= gib / 16 && bytesOf(value) <= 32 * gib;

const isPort = (value: string) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535;

const isHost = (value: string) => hostName.test(value) || isIPv6(withoutBrackets(value));

/** Removes the brackets of an IPv6 address, which the Host header has and `listen` does not accept. */
const withoutBrackets = (host: string) => host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
const withBrackets = (host: string) =>
  isIPv6(withoutBrackets(host)) ? `[${withoutBrackets(host)}]` : host.toLowerCase();
