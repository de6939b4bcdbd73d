import { type JsonObject, isObject } from '#core';
import type { ClientName } from './client/client.ts';

/** How clients reach the hub. */
export type HubAddress = {
  /** The hub's base URL, such as `http://localhost:9090`. */
  readonly url: string;
  /** One of the hub's servers instead of all. */
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
  const url = endpointOf(hub);
  const headers = headersOf(client, hub);
  switch (client) {
    case 'claude-desktop':
      return bridgeEntry(hub);
    case 'claude-code':
    case 'vscode':
    case 'raycast':
      return { type: 'http', url, ...headers };
    case 'windsurf':
      return { serverUrl: url, ...headers };
    case 'cursor':
      return { url, ...headers };
    case 'codex':
      if (hub.token === undefined) return { url };
      return hub.isTokenMade === true
        ? { url, http_headers: { Authorization: `Bearer ${hub.token}` } }
        : { url, bearer_token_env_var: tokenVariable };
  }
}

/** The MCP endpoint of the hub or of one of its servers. */
export function endpointOf({ url, server }: Pick<HubAddress, 'url' | 'server'>): string {
  const base = url.replace(/\/+$/, '').replace(/\/mcp$/, '');
  return server === undefined ? `${base}/mcp` : `${base}/mcp/${encodeURIComponent(server)}`;
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

function headersOf(client: ClientName, hub: HubAddress): JsonObject {
  const { token } = hub;
  if (token === undefined || client === 'raycast') return {};
  if (hub.isTokenMade === true) return { headers: { Authorization: `Bearer ${token}` } };
  const reference = client === 'claude-code' ? `\${${tokenVariable}}` : `\${env:${tokenVariable}}`;
  return { headers: { Authorization: `Bearer ${reference}` } };
}

function bridgeEntry({ url, server, token, bridge }: HubAddress): JsonObject {
  const chosen = server === undefined ? [] : ['--server', server];
  return {
    command: bridge.command,
    args: [...bridge.args, 'connect-stdio', '--url', url, ...chosen],
    // This client neither passes on its variables nor expands any.
    ...(token !== undefined && { env: { [tokenVariable]: token } }),
  };
}

/** Keys that describe how to reach the server. A new entry replaces all of them. */
const transportKeys = new Set([
  'type',
  'transport',
  'command',
  'args',
  'env',
  'env_vars',
  'envFile',
  'cwd',
  'url',
  'serverUrl',
  'headers',
  'http_headers',
  'env_http_headers',
  'bearer_token_env_var',
  'auth',
  'oauth',
]);

/** Adds the user's other settings of the earlier entry, such as tools that run without confirmation. */
export function keepUserSettings(entry: JsonObject, before: unknown): JsonObject {
  if (!isObject(before)) return entry;
  const kept = Object.entries(before).filter(([key]) => !transportKeys.has(key));
  // The entry was read from JSON, or from TOML without dates.
  const choices: JsonObject = JSON.parse(JSON.stringify(Object.fromEntries(kept)));
  return { ...entry, ...choices };
}

/** Whether an entry points to the same endpoint of the hub, under any name. */
export function isSameHub(entry: unknown, hub: HubAddress): boolean {
  const address = addressIn(entry);
  if (address !== undefined) return sameEndpoint(address, endpointOf(hub));
  const args = argsIn(entry);
  const at = args.indexOf('connect-stdio');
  if (at === -1 || !pointsToHub(entry, hub)) return false;
  const option = (name: string) =>
    args.includes(name, at) ? args[args.indexOf(name, at) + 1] : undefined;
  return (
    option('--server') === hub.server && originOf(option('--url') ?? hub.url) === originOf(hub.url)
  );
}

/** Whether an entry points to the hub: to all of it, to one server, or through a bridge. */
export function pointsToHub(entry: unknown, { url }: Pick<HubAddress, 'url'>): boolean {
  const line = lineIn(entry);
  const bridged = line.indexOf('connect-stdio');
  if (bridged !== -1 && line.slice(0, bridged).some(word => /agenthub|hub[\\/]main/.test(word)))
    return true;
  return addressesIn(entry).some(address => originOf(address) === originOf(url));
}

/**
 * Whether `connect` wrote this entry: it points to the hub, or has the default name and points to another port
 * of this machine.
 */
export function isConnectEntry(
  name: string,
  entry: unknown,
  hub: Pick<HubAddress, 'url'>,
): boolean {
  return (
    pointsToHub(entry, hub) ||
    (name === defaultEntryName && addressesIn(entry).some(isEndpointHere))
  );
}

const isEndpointHere = (address: string) =>
  /^https?:\/\/localhost:/.test(originOf(address) ?? '') &&
  /\/mcp(?:\/[^/]+)?$/.test(pathOf(address) ?? '');

const addressIn = (entry: unknown): string | undefined => {
  if (!isObject(entry)) return undefined;
  const address = entry['url'] ?? entry['serverUrl'];
  return typeof address === 'string' ? address : undefined;
};

const argsIn = (entry: unknown): readonly string[] => {
  const args = isObject(entry) ? entry['args'] : undefined;
  return Array.isArray(args) ? args.filter(arg => typeof arg === 'string') : [];
};

/** The command and arguments of an entry. */
const lineIn = (entry: unknown): readonly string[] => {
  const command = isObject(entry) ? entry['command'] : undefined;
  return [...(typeof command === 'string' ? [command] : []), ...argsIn(entry)];
};

const addressesIn = (entry: unknown): readonly string[] =>
  [addressIn(entry), ...argsIn(entry)].filter(text => text !== undefined);

const sameEndpoint = (one: string, other: string) =>
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
