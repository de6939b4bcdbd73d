import { basename, sep } from 'node:path';
import { type JsonObject, isObject } from '#core';
import { escapeDollars } from '../entry-variables.ts';
import { filled } from '../filled.ts';
import type { ClientName } from './client.ts';

/** A server entry of a client, in one form for all clients. Values are as the client wrote them. */
export type ClientEntry = Exclude<ReturnType<typeof readClientEntry>, { readonly why: string }>;

/** Reads a server entry of a client. Returns `why` if the hub cannot import it. */
export function readClientEntry(entry: unknown, client: ClientName) {
  if (!isObject(entry)) return { why: 'it is not an object' };
  if (entry['headersHelper'] !== undefined)
    return { why: 'a program of the client generates its headers' };
  const login = [entry['oauth'], entry['auth']].find(isObject) ?? {};
  if (login['authServerMetadataUrl'] !== undefined)
    return {
      why: 'the hub asks the server itself where to log in: remove "authServerMetadataUrl" there first',
    };
  if (entry['envFile'] !== undefined)
    return { why: 'its variables are in a file ("envFile"): write them into "env" first' };
  const type = textOf(entry['type'] ?? entry['transport']);
  if (type !== undefined && !knownTypes.has(type))
    return { why: `the hub does not speak ${JSON.stringify(type)} to servers` };
  if (entry['authProviderType'] !== undefined && entry['authProviderType'] !== 'dynamic_discovery')
    return { why: 'the client logs in for it, with an account of Google Cloud' };
  const url = textOf(entry['url']) ?? textOf(entry['serverUrl']) ?? textOf(entry['httpUrl']);
  // opencode has the command and its arguments in one list.
  const [program, ...words] = [entry['command']].flat();
  const command = textOf(program);
  if (command === undefined && url === undefined)
    return { why: 'it has neither "command" nor "url"' };
  const args = words.length > 0 ? words : (entry['args'] ?? []);
  if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string'))
    return { why: '"args" is not a list of strings' };
  const isCodex = client === 'codex';
  return {
    command: url === undefined ? command : undefined,
    args,
    env: textsOf(entry['env'] ?? entry['environment']),
    /** Names of variables that the client passes on from its own environment. */
    passedThrough: isCodex ? namesOf(entry['env_vars']) : [],
    cwd: textOf(entry['cwd']),
    url,
    transport: type === 'sse' || (type === undefined && endsInSse(url ?? '')) ? 'sse' : 'http',
    headers: textsOf(isCodex ? entry['http_headers'] : entry['headers']),
    /** Headers with values from variables: names of the variables by header. */
    headersFrom: isCodex ? textsOf(entry['env_http_headers']) : {},
    /** Name of the variable that contains the bearer token. */
    tokenFrom: isCodex ? textOf(entry['bearer_token_env_var']) : undefined,
    /** The OAuth client: in `oauth` of most clients, in `auth` of Cursor, and beside them in Copilot CLI. */
    oauth: oauthOf({
      id: login['clientId'] ?? login['CLIENT_ID'] ?? login['client_id'] ?? entry['oauthClientId'],
      secret: login['clientSecret'] ?? login['CLIENT_SECRET'] ?? login['client_secret'],
      scopes: login['scopes'] ?? login['scope'] ?? entry[isCodex ? 'scopes' : 'oauthScopes'],
    }),
    /** The only tools that the client uses; undefined if it uses all. */
    allowedTools: isCodex
      ? listOf(entry['enabled_tools'])
      : toolsOf(entry['tools'] ?? entry['includeTools']),
    deniedTools:
      listOf(entry[isCodex ? 'disabled_tools' : 'disabledTools'] ?? entry['excludeTools']) ?? [],
    timeoutSeconds: timeoutOf(entry, client),
    isDisabled: entry['disabled'] === true || entry['enabled'] === false,
  };
}

/** Returns the value of `oauth` in the hub's entry; undefined if there is nothing to write. */
export function oauthOf({
  id,
  secret,
  scopes,
}: Readonly<Record<'id' | 'secret' | 'scopes', unknown>>): JsonObject | undefined {
  const list = typeof scopes === 'string' ? scopes.split(/\s+/).filter(Boolean) : listOf(scopes);
  const oauth = filled({ client_id: textOf(id), client_secret: textOf(secret), scopes: list });
  return Object.keys(oauth).length > 0 ? oauth : undefined;
}

/** True if the path of a URL ends in `/sse`, as endpoints of HTTP with SSE do by convention. */
export const endsInSse = (url: string): boolean => /\/sse\/*$/.test(URL.parse(url)?.pathname ?? '');

/** Maximum of `timeout` in the hub's config, in seconds. */
const maxTimeoutSeconds = 86_400;

/** Values of `type`. GitHub Copilot and opencode write `local` for stdio, and opencode `remote` for HTTP. */
const knownTypes = new Set([
  'stdio',
  'local',
  'http',
  'remote',
  'sse',
  'streamable-http',
  'streamableHttp',
]);

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** Returns the texts in a list; undefined if the value is not a list. */
const listOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.flatMap(item => textOf(item) ?? []) : undefined;

/** Returns the only tools that GitHub Copilot uses; undefined for all of them, which it writes as `*`. */
function toolsOf(value: unknown): readonly string[] | undefined {
  const names = listOf(value);
  return names?.includes('*') === true ? undefined : names;
}

/** Clients whose entries limit the duration of a call: Codex in seconds, the others in ms. */
const readsTimeout = new Set<ClientName>(['codex', 'claude-code', 'gemini-cli', 'qwen-code']);

/** Returns the time that a call may take, in seconds; undefined if the entry does not set it. */
function timeoutOf(entry: Readonly<Record<string, unknown>>, client: ClientName) {
  const value = entry[client === 'codex' ? 'tool_timeout_sec' : 'timeout'];
  if (!readsTimeout.has(client) || typeof value !== 'number' || !(value > 0)) return undefined;
  const seconds = Math.ceil(client === 'codex' ? value : value / 1000);
  return Math.min(seconds, maxTimeoutSeconds);
}

/** Returns the values as strings, because clients also accept numbers and booleans. */
function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  const texts = Object.entries(value).filter(([, text]) =>
    ['string', 'number', 'boolean', 'bigint'].includes(typeof text),
  );
  return Object.fromEntries(texts.map(([name, text]) => [name, String(text)]));
}

/** Returns the names in a list, whose items newer versions of Codex write as objects with a name. */
function namesOf(value: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [];
  return names.flatMap(name => textOf(isObject(name) ? name['name'] : name) ?? []);
}

/** Folders that predefined variables of a client may refer to. */
export type ClientFolders = { readonly home: string; readonly folder: string };

/** Syntax for variables in each client's file: `plain` is `${NAME}`, and `shell` that or `$NAME`. */
const syntaxes: Readonly<Record<ClientName, Syntax | 'none'>> = {
  'claude-code': 'plain',
  'claude-desktop': 'none',
  vscode: 'named',
  cursor: 'named',
  windsurf: 'named',
  codex: 'none',
  'gemini-cli': 'shell',
  'qwen-code': 'shell',
  'copilot-cli': 'shell',
  opencode: 'braces',
  raycast: 'none',
};

type Syntax = keyof typeof variablePatterns;

/** Patterns of variables, with what is inside in a group. */
const variablePatterns = {
  plain: /\$\{([^{}]*)\}/g,
  shell: /\$(?:\{([^{}]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g,
  named: /\$\{([^{}]*)\}/g,
  braces: /\{((?:env|file):[^{}]*)\}/g,
};

/** Returns a reference to a variable, in the syntax of a client's file. `${env:NAME}` for clients that expand none. */
export function referenceTo(variable: string, client: ClientName): string {
  const syntax = syntaxes[client];
  if (syntax === 'braces') return `{env:${variable}}`;
  return syntax === 'plain' || syntax === 'shell' ? `\${${variable}}` : `\${env:${variable}}`;
}

const plainName = /^[A-Za-z_][A-Za-z0-9_]*(?::-[^]*)?$/;
const upperCaseName = /^[A-Z_][A-Z0-9_]*$/;

/**
 * Converts a client's text to the hub's syntax. `${NAME}` stays a variable; any other dollar sign is escaped where
 * needed. Returns `unknown` with the first variable that only the client can expand.
 */
export function hubText(
  text: string,
  client: ClientName,
  folders: ClientFolders,
): { readonly text: string; readonly isLiteral: boolean } | { readonly unknown: string } {
  const syntax = syntaxes[client];
  if (syntax === 'none') return { text: escapeDollars(text), isLiteral: true };
  let isLiteral = true;
  let unknown: string | undefined;
  let done = 0;
  const parts: string[] = [];
  for (const { 0: whole, 1: inside, 2: bare = '', index } of text.matchAll(
    variablePatterns[syntax],
  )) {
    const converted = convertVariable(inside ?? bare, syntax, folders);
    // Add the dollar sign of the hub's variable: a dollar sign before it has to be escaped.
    parts.push(escapeDollars(`${text.slice(done, index)}$`).slice(0, -1));
    if (converted === undefined && (syntax === 'named' || syntax === 'braces')) unknown ??= whole;
    if (converted?.startsWith('${')) isLiteral = false;
    parts.push(converted ?? escapeDollars(whole));
    done = index + whole.length;
  }
  if (unknown !== undefined) return { unknown };
  return { text: parts.join('') + escapeDollars(text.slice(done)), isLiteral };
}

function convertVariable(
  inside: string,
  syntax: Syntax,
  places: ClientFolders,
): string | undefined {
  if (syntax === 'plain' || syntax === 'shell')
    return plainName.test(inside) ? `\${${inside}}` : undefined;
  const [, name] = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(inside) ?? [];
  if (syntax === 'braces') return name === undefined ? undefined : `\${${name}}`;
  if (name !== undefined || upperCaseName.test(inside)) return `\${${name ?? inside}}`;
  if (inside === '/' || inside === 'pathSeparator') return sep;
  if (inside === 'userHome') return escapeDollars(places.home);
  if (inside === 'workspaceFolderBasename') return escapeDollars(basename(places.folder));
  return /^workspace(?:Folder|Root)$/.test(inside) ? escapeDollars(places.folder) : undefined;
}
