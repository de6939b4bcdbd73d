import { readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type JsonObject, isObject } from '#core';
import type { ClientName } from './client/client.ts';

/** How clients reach the hub. */
export type HubAddress = {
  /** The hub's base URL, such as `http://localhost:9090`. */
  readonly url: string;
  /** One of the hub's servers instead of all, or a profile after "@". */
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  /** True if the hub generated the token. No variable holds it then, so it is written into the file. */
  readonly isTokenMade?: boolean;
  /** The command that bridges stdio to the hub, without its options. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] };
};

/** The default name of the hub in clients' files. */
export const defaultEntryName = 'agenthub';

/** The variable with the token, for the hub and for clients. */
export const tokenVariable = 'ROUTER_TOKEN';

/** The hub's entry in a client's file. */
export function hubEntry(client: ClientName, hub: HubAddress): JsonObject {
  const { token, isTokenMade } = hub;
  const url = endpointOf(hub);
  const reference = client === 'claude-code' ? `\${${tokenVariable}}` : `\${env:${tokenVariable}}`;
  const authorization = { Authorization: `Bearer ${isTokenMade === true ? token : reference}` };
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
    case 'cursor':
      return { url, ...headers };
    case 'codex':
      if (token === undefined) return { url };
      return isTokenMade === true
        ? { url, http_headers: authorization }
        : { url, bearer_token_env_var: tokenVariable };
  }
}

/** The MCP endpoint of the hub, of one of its servers or of a profile. */
export function endpointOf({ url, server }: Pick<HubAddress, 'url' | 'server'>): string {
  const base = url.replace(/\/+$/, '').replace(/\/mcp$/, '');
  if (server === undefined) return `${base}/mcp`;
  const [start, name] = server.startsWith('@') ? ['@', server.slice(1)] : ['', server];
  return `${base}/mcp/${start}${encodeURIComponent(name)}`;
}

/**
 * How the client gets the token: from a variable if it can expand one and the user sets it, otherwise as a
 * value in the file.
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
    // This client neither passes on its variables nor expands any.
    ...(token !== undefined && { env: { [tokenVariable]: token } }),
  };
}

/** Keys that describe how to reach the server. A new entry replaces all of them. */
const transportKeys =
  /^(?:type|transport|command|args|env|env_vars|envFile|cwd|url|serverUrl|headers|http_headers|env_http_headers|bearer_token_env_var|auth|oauth)$/;

/** Adds the user's other settings of the earlier entry, such as tools that run without confirmation. */
export function keepUserSettings(entry: JsonObject, before: unknown): JsonObject {
  if (!isObject(before)) return entry;
  const kept = Object.entries(before).filter(([key]) => !transportKeys.test(key));
  // The entry was read from JSON, or from TOML without dates.
  const choices: JsonObject = JSON.parse(JSON.stringify(Object.fromEntries(kept)));
  return { ...entry, ...choices };
}

/** Whether an entry points to the same endpoint of the hub, under any name. */
export function isSameHub(entry: unknown, hub: Pick<HubAddress, 'url' | 'server'>): boolean {
  const { address, args } = readEntry(entry);
  if (address !== undefined) return isSameEndpoint(address, endpointOf(hub));
  const at = args.indexOf('connect-stdio');
  if (at === -1 || !pointsToHub(entry, hub)) return false;
  const option = (name: string) =>
    args.includes(name, at) ? args[args.indexOf(name, at) + 1] : undefined;
  const url = option('--url') ?? hub.url;
  const profile = option('--profile');
  const server = profile === undefined ? option('--server') : `@${profile}`;
  return server === hub.server && originOf(url) === originOf(hub.url);
}

/** Whether an entry points to the hub: to all of it, to one server, or through a bridge. */
export function pointsToHub(entry: unknown, { url }: Pick<HubAddress, 'url'>): boolean {
  const { command = '', args, addresses } = readEntry(entry);
  const words = [command, ...args];
  const program = words.slice(0, Math.max(0, words.indexOf('connect-stdio')));
  return (
    program.some(word => /agenthub|hub[\\/]main/.test(word)) ||
    addresses.some(address => originOf(address) === originOf(url))
  );
}

/**
 * Whether `connect` wrote this entry: it points to the hub, or has the default name and points to another port
 * of this machine.
 */
export const isConnectEntry = (
  name: string,
  entry: unknown,
  hub: Pick<HubAddress, 'url'>,
): boolean =>
  pointsToHub(entry, hub) ||
  (name === defaultEntryName && readEntry(entry).addresses.some(isEndpointHere));

/** True if an entry shows by itself that it is a hub, this one or another. */
export function isHubEntry(name: string, entry: unknown): boolean {
  const { args, addresses, address } = readEntry(entry);
  return (
    args.includes('connect-stdio') ||
    addresses.some(one => /\/mcp\/@[^/]+$/.test(pathOf(one) ?? '')) ||
    (/^agenthub\b/i.test(name) && addresses.some(isEndpointHere)) ||
    (address !== undefined && new RegExp(`\\b${tokenVariable}\\b`).test(JSON.stringify(entry)))
  );
}

const isEndpointHere = (address: string) =>
  /^https?:\/\/localhost:/.test(originOf(address) ?? '') &&
  /\/mcp(?:\/[^/]+)?$/.test(pathOf(address) ?? '');

/** The parts of an entry that may refer to the hub. */
function readEntry(entry: unknown) {
  const { url, serverUrl, command, args } = isObject(entry) ? entry : {};
  const texts = Array.isArray(args) ? args.filter(arg => typeof arg === 'string') : [];
  const address = textOf(url ?? serverUrl);
  return {
    command: textOf(command),
    args: texts,
    address,
    addresses: [address ?? [], texts].flat(),
  };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

const isSameEndpoint = (one: string, other: string) =>
  originOf(one) === originOf(other) && pathOf(one) === pathOf(other);

const pathOf = (address: string) => URL.parse(address)?.pathname.replace(/\/+$/, '');

/** The origin of a URL, with one name for this machine. Undefined if the text is not an HTTP URL. */
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
  /** The absolute path of Node. */
  readonly node: string;
  /** The script that Node runs. */
  readonly script: string;
  /** A value of `process.platform`. */
  readonly platform: string;
};

/**
 * The command with which a client starts this program later. It uses absolute paths, because desktop programs
 * have another search path. A program that npx runs from its cache is started through npx again, because npx
 * may clear the cache.
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
 * The package spec that the user gave to npx, if the script is in the npx cache. Undefined if it is not, or if
 * the spec is a folder or an archive.
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
    // Without a readable lock file the version is unknown.
    return undefined;
  }
}
