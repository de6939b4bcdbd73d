import { type JsonObject, isObject } from '#core';
import type { ClientName } from './client.ts';

/** The hub as clients are told of it. */
export type HubAddress = {
  /** Where it is: `http://localhost:9090`. */
  readonly url: string;
  /** One of its servers instead of all. */
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  /** Whether the hub made the token by itself: no variable has it, and it is written as it is. */
  readonly isTokenMade?: boolean;
  /** The program that connects a client on stdin and stdout, to be followed by its options. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] };
};

/** How clients call the hub, unless a person says otherwise. */
export const usualName = 'agenthub';

/** The variable by which hub and clients know the token. */
export const tokenVariable = 'ROUTER_TOKEN';

/** What a client has of the hub in its file. */
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

/** The address at which clients speak MCP to the hub, or to one of its servers. */
export function endpointOf({ url, server }: Pick<HubAddress, 'url' | 'server'>): string {
  const base = url.replace(/\/+$/, '').replace(/\/mcp$/, '');
  return server === undefined ? `${base}/mcp` : `${base}/mcp/${encodeURIComponent(server)}`;
}

/** How the client finds the token: by the name of a variable where it looks those up and somebody sets it. */
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
    // This client hands no variables of its own on, and fills none in.
    ...(token !== undefined && { env: { [tokenVariable]: token } }),
  };
}

/** Keys that say how a server is reached, and so are none to keep beside those of another way. */
const wayKeys = new Set([
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

/** An entry with what the person has set beside the way to the server, such as tools that need no question. */
export function keepingChoices(entry: JsonObject, before: unknown): JsonObject {
  if (!isObject(before)) return entry;
  const kept = Object.entries(before).filter(([key]) => !wayKeys.has(key));
  // What was read from a file is JSON, or TOML without dates.
  const choices: JsonObject = JSON.parse(JSON.stringify(Object.fromEntries(kept)));
  return { ...entry, ...choices };
}

/** True for an entry that leads to the same endpoint of the hub, however it is called. */
export function isSameHub(entry: unknown, hub: HubAddress): boolean {
  const address = addressIn(entry);
  if (address !== undefined) return sameEndpoint(address, endpointOf(hub));
  const args = argsIn(entry);
  const at = args.indexOf('connect-stdio');
  if (at === -1 || !isHub(entry, hub)) return false;
  const option = (name: string) =>
    args.includes(name, at) ? args[args.indexOf(name, at) + 1] : undefined;
  return (
    option('--server') === hub.server && originOf(option('--url') ?? hub.url) === originOf(hub.url)
  );
}

/** True for an entry that leads to the hub in any way: to all of it, to one server, or through a bridge. */
export function isHub(entry: unknown, { url }: Pick<HubAddress, 'url'>): boolean {
  const line = lineIn(entry);
  const bridged = line.indexOf('connect-stdio');
  if (bridged !== -1 && line.slice(0, bridged).some(word => /agenthub|hub[\\/]main/.test(word)))
    return true;
  return addressesIn(entry).some(address => originOf(address) === originOf(url));
}

/** True for an entry of `connect` under this name: for the hub, or for one that was at another port of this machine. */
export function isOfConnect(name: string, entry: unknown, hub: Pick<HubAddress, 'url'>): boolean {
  return isHub(entry, hub) || (name === usualName && addressesIn(entry).some(isEndpointHere));
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

/** A program and its arguments. */
const lineIn = (entry: unknown): readonly string[] => {
  const command = isObject(entry) ? entry['command'] : undefined;
  return [...(typeof command === 'string' ? [command] : []), ...argsIn(entry)];
};

const addressesIn = (entry: unknown): readonly string[] =>
  [addressIn(entry), ...argsIn(entry)].filter(text => text !== undefined);

const sameEndpoint = (one: string, other: string) =>
  originOf(one) === originOf(other) && pathOf(one) === pathOf(other);

const pathOf = (address: string) => URL.parse(address)?.pathname.replace(/\/+$/, '');

/** The origin, in which this machine has one name only; undefined for what is no address. */
function originOf(address: string): string | undefined {
  if (!/^https?:\/\//i.test(address)) return undefined;
  const url = URL.parse(address);
  if (!url) return undefined;
  const isHere = ['127.0.0.1', '[::1]', '0.0.0.0', '[::]'].includes(url.hostname);
  const host = isHere ? 'localhost' : url.hostname;
  return `${url.protocol}//${host}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}
