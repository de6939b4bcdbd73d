import { readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type JsonObject, isObject } from '#core';
import type { ClientName } from './client/client.ts';
import { referenceTo } from './client/entry.ts';

/** The hub's address for clients. */
export type HubAddress = {
  /** Base URL of the hub, such as `http://localhost:9090`. */
  readonly url: string;
  /** One of the hub's servers, or a profile after "@". Undefined for all servers. */
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  /** True if the hub generated the token. Since no variable contains it then, clients' files do. */
  readonly isTokenMade?: boolean;
  /** Command that bridges stdio to the hub, without its options. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] };
};

/** Default name of the hub in clients' files. */
export const defaultEntryName = 'agenthub';

/** Name of the variable with the token, for the hub and for clients. */
export const tokenVariable = 'ROUTER_TOKEN';

/** Returns the hub's entry for a client's file. */
export function hubEntry(client: ClientName, hub: HubAddress): JsonObject {
  const { token, isTokenMade } = hub;
  const url = endpointOf(hub);
  const authorization = {
    Authorization: `Bearer ${isTokenMade === true ? token : referenceTo(tokenVariable, client)}`,
  };
  const headers = token === undefined ? {} : { headers: authorization };
  switch (client) {
    case 'claude-desktop':
      return bridgeEntry(hub);
    case 'raycast':
      return { type: 'http', url };
    case 'claude-code':
    case 'vscode':
      return { type: 'http', url, ...headers };
    case 'windsurf':
      return { serverUrl: url, ...headers };
    case 'gemini-cli':
    case 'qwen-code':
      // Earlier versions use `url` for SSE only.
      return { httpUrl: url, ...headers };
    case 'copilot-cli':
      return { type: 'http', url, tools: ['*'], ...headers };
    case 'opencode':
      return { type: 'remote', url, enabled: true, ...headers };
    case 'cursor':
      return { url, ...headers };
    case 'codex':
      if (token === undefined) return { url };
      return isTokenMade === true
        ? { url, http_headers: authorization }
        : { url, bearer_token_env_var: tokenVariable };
  }
}

/** Returns the URL of the MCP endpoint: the hub's, or that of one server or profile. */
export function endpointOf({ url, server }: Pick<HubAddress, 'url' | 'server'>): string {
  const base = url.replace(/\/+$/, '').replace(/\/mcp$/, '');
  if (server === undefined) return `${base}/mcp`;
  const [start, name] = server.startsWith('@') ? ['@', server.slice(1)] : ['', server];
  return `${base}/mcp/${start}${encodeURIComponent(name)}`;
}

/**
 * Returns where a client gets the token: from a variable if the client can expand it and the user sets it, or else from
 * a value in its file. Raycast gets none.
 */
export function tokenIn(
  client: ClientName,
  { isTokenMade }: Pick<HubAddress, 'isTokenMade'>,
): 'variable' | 'value' | 'nowhere' {
  if (client === 'raycast') return 'nowhere';
  return client === 'claude-desktop' || isTokenMade === true ? 'value' : 'variable';
}

function bridgeEntry({ url, server, token, bridge }: HubAddress): JsonObject {
  const chosen =
    server === undefined
      ? []
      : server.startsWith('@')
        ? ['--profile', server.slice(1)]
        : ['--server', server];
  return {
    command: bridge.command,
    args: [...bridge.args, 'connect-stdio', '--url', url, ...chosen],
    // Set the token as a value, as this client neither passes on its variables nor expands any.
    ...(token !== undefined && { env: { [tokenVariable]: token } }),
  };
}

/** Keys that describe how to reach the server. A new entry replaces all of them. */
const transportKeys =
  /^(?:type|transport|command|args|env|env_vars|envFile|environment|cwd|url|serverUrl|httpUrl|headers|http_headers|env_http_headers|bearer_token_env_var|auth|oauth)$/;

/** Adds the user's other settings in the earlier entry, such as tools that run without confirmation. */
export function keepUserSettings(entry: JsonObject, before: unknown): JsonObject {
  if (!isObject(before)) return entry;
  const kept = Object.entries(before).filter(([key]) => !transportKeys.test(key));
  // JSON can express the settings: the entry was read from JSON, or from TOML without dates.
  const choices: JsonObject = JSON.parse(JSON.stringify(Object.fromEntries(kept)));
  return { ...entry, ...choices };
}

/** True if an entry points to the same endpoint of the hub, under any name. */
export function isSameHub(entry: unknown, hub: Pick<HubAddress, 'url' | 'server'>): boolean {
  const { address, bridge } = readEntry(entry);
  if (address !== undefined) return isSameEndpoint(address, endpointOf(hub));
  return bridge !== undefined && bridge.server === hub.server && pointsToHub(entry, hub);
}

/**
 * True if an entry points to the hub, one of its servers, or a bridge to it. A bridge without an address connects to
 * the hub of the settings.
 */
export function pointsToHub(entry: unknown, { url }: Pick<HubAddress, 'url'>): boolean {
  const { addresses, bridge } = readEntry(entry);
  return (
    (bridge?.isOwn === true && bridge.url === undefined) ||
    addresses.some(address => originOf(address) === originOf(url))
  );
}

/**
 * True if `connect` wrote this entry: it points to the hub, or has the default name and points to another port of this
 * machine.
 */
export const isConnectEntry = (
  name: string,
  entry: unknown,
  hub: Pick<HubAddress, 'url'>,
): boolean =>
  pointsToHub(entry, hub) ||
  (name === defaultEntryName && readEntry(entry).addresses.some(isEndpointHere));

/** True if the entry alone shows that it is a hub, this one or another. */
export function isHubEntry(name: string, entry: unknown): boolean {
  const { bridge, addresses, address } = readEntry(entry);
  return (
    bridge !== undefined ||
    addresses.some(one => /\/mcp\/@[^/]+$/.test(pathOf(one) ?? '')) ||
    (/^agenthub\b/i.test(name) && addresses.some(isEndpointHere)) ||
    (address !== undefined && new RegExp(`\\b${tokenVariable}\\b`).test(JSON.stringify(entry)))
  );
}

const isEndpointHere = (address: string) =>
  /^https?:\/\/localhost:/.test(originOf(address) ?? '') &&
  /\/mcp(?:\/[^/]+)?$/.test(pathOf(address) ?? '');

/** Returns the parts of an entry that may refer to the hub. */
function readEntry(entry: unknown) {
  const { url, serverUrl, httpUrl, command, args } = isObject(entry) ? entry : {};
  const texts = [command, args].flat().filter(word => typeof word === 'string');
  const address = textOf(url ?? serverUrl ?? httpUrl);
  const bridge = bridgeIn(texts);
  const bridged = bridge?.url === undefined ? [] : endpointOf({ url: bridge.url });
  return { address, bridge, addresses: [address ?? [], bridge ? bridged : texts].flat() };
}

/** Returns the options of `connect-stdio` in the words of a command; undefined if the command does not run it. */
function bridgeIn(words: readonly string[]) {
  const at = words.indexOf('connect-stdio');
  if (at === -1) return undefined;
  const options = words.slice(at + 1);
  const valueOf = (name: string) =>
    options.flatMap((word, index) => {
      if (word === name) return options[index + 1] ?? [];
      return word.startsWith(`${name}=`) ? word.slice(name.length + 1) : [];
    })[0];
  const profile = valueOf('--profile');
  return {
    /** True if the name of the program says that it is AgentHub. */
    isOwn: words.slice(0, at).some(word => /agenthub|hub[\\/]main/.test(word)),
    url: valueOf('--url'),
    server: profile === undefined ? valueOf('--server') : `@${profile}`,
  };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

const isSameEndpoint = (one: string, other: string) =>
  originOf(one) === originOf(other) && pathOf(one) === pathOf(other);

const pathOf = (address: string) => URL.parse(address)?.pathname.replace(/\/+$/, '');

/** Returns the origin of a URL, with one name for all loopback hosts; undefined if the text is not an HTTP URL. */
function originOf(address: string): string | undefined {
  if (!/^https?:\/\//i.test(address)) return undefined;
  const url = URL.parse(address);
  if (!url) return undefined;
  const isHere = ['127.0.0.1', '[::1]', '0.0.0.0', '[::]'].includes(url.hostname);
  const host = isHere ? 'localhost' : url.hostname;
  return `${url.protocol}//${host}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}

/** How the current process was started. */
type Program = {
  /** Absolute path of Node. */
  readonly node: string;
  /** Path of the script that Node runs. */
  readonly script: string;
  /** Value of `process.platform`. */
  readonly platform: string;
};

/**
 * Returns the command with which a client can start this program later. Uses absolute paths, because desktop programs
 * have another PATH. If npx runs this program from its cache, uses npx again, because npx may clear the cache.
 */
export async function findBridge({ node, script, platform }: Program) {
  const real = await realpath(script);
  const spec = await npxSpecOf(real);
  if (spec === undefined) return { command: node, args: [real] };
  const args = ['-y', spec];
  return platform === 'win32'
    ? { command: 'cmd', args: ['/c', 'npx', ...args] }
    : { command: 'npx', args };
}

/**
 * Returns the package spec that the user gave to npx, if the script is in the npx cache; undefined if it is elsewhere,
 * or the spec is a folder or an archive.
 */
async function npxSpecOf(script: string): Promise<string | undefined> {
  const [, cache, key] = /^(.*[\\/]_npx)[\\/]([^\\/]+)[\\/]/.exec(script) ?? [];
  if (cache === undefined || key === undefined) return undefined;
  try {
    const manifest: unknown = JSON.parse(await readFile(join(cache, key, 'package.json'), 'utf8'));
    const npx = isObject(manifest) ? manifest['_npx'] : undefined;
    const packages = isObject(npx) ? npx['packages'] : undefined;
    const packageName = script.slice(join(cache, key, 'node_modules').length).split(sep)[1] ?? '';
    const specs = Array.isArray(packages) ? packages.map(String) : [];
    return specs.find(
      spec =>
        spec === packageName ||
        (/^[\w.+-]+$/.test(spec.slice(`${packageName}@`.length)) &&
          spec.startsWith(`${packageName}@`)),
    );
  } catch {
    // Without a readable `package.json` in the cache, the version is unknown.
    return undefined;
  }
}
