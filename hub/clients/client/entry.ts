import { isObject } from '#core';
import type { ClientName } from './client.ts';

/** A server entry of a client, in one shape for all clients. Texts are as the client wrote them. */
export type ClientEntry = {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables that the client passes through from its own environment. */
  readonly passedThrough: readonly string[];
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly transport: 'http' | 'sse' | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers whose values come from variables: header name to variable name. */
  readonly headersFrom: Readonly<Record<string, string>>;
  /** Name of the variable with the bearer token. */
  readonly tokenFrom: string | undefined;
  readonly isDisabled: boolean;
};

/** Keys of features that the hub cannot take over, with the reason. */
const unsupported: Readonly<Record<string, string>> = {
  auth: 'it signs in with OAuth, which only the client can',
  oauth: 'it signs in with OAuth, which only the client can',
  headersHelper: 'a program of the client generates its headers',
};

/** Reads one server entry of a client. Returns a reason if the hub cannot take it over. */
export function readClientEntry(
  entry: unknown,
  client: ClientName,
): ClientEntry | { readonly why: string } {
  if (!isObject(entry)) return { why: 'it is not an object' };
  for (const [key, why] of Object.entries(unsupported)) if (isObject(entry[key])) return { why };
  if (entry['envFile'] !== undefined)
    return { why: 'its variables are in a file ("envFile"): write them into "env" first' };
  const type = textOf(entry['type'] ?? entry['transport']);
  if (type !== undefined && !knownTypes.has(type))
    return { why: `the hub does not speak ${JSON.stringify(type)} to servers` };
  const url = textOf(entry['url']) ?? textOf(entry['serverUrl']) ?? textOf(entry['httpUrl']);
  const command = textOf(entry['command']);
  if (command === undefined && url === undefined)
    return { why: 'it has neither "command" nor "url"' };
  const args = entry['args'] ?? [];
  if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string'))
    return { why: '"args" is not a list of strings' };
  return {
    command: url === undefined ? command : undefined,
    args,
    env: textsOf(entry['env']),
    passedThrough: client === 'codex' ? namesOf(entry['env_vars']) : [],
    cwd: textOf(entry['cwd']),
    url,
    transport: url === undefined ? undefined : type === 'sse' ? 'sse' : 'http',
    headers: textsOf(client === 'codex' ? entry['http_headers'] : entry['headers']),
    headersFrom: client === 'codex' ? textsOf(entry['env_http_headers']) : {},
    tokenFrom: client === 'codex' ? textOf(entry['bearer_token_env_var']) : undefined,
    isDisabled: entry['disabled'] === true || entry['enabled'] === false,
  };
}

const knownTypes = new Set(['stdio', 'http', 'sse', 'streamable-http', 'streamableHttp']);

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** Clients also accept numbers and booleans where texts are expected. */
function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  const texts = Object.entries(value).filter(([, text]) =>
    ['string', 'number', 'boolean', 'bigint'].includes(typeof text),
  );
  return Object.fromEntries(texts.map(([name, text]) => [name, String(text)]));
}

/** Newer versions of Codex write an object with a name instead of a string. */
function namesOf(value: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [];
  return names.flatMap(name => textOf(isObject(name) ? name['name'] : name) ?? []);
}
