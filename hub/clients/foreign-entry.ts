import { isObject } from '#core';
import type { ClientName } from './client.ts';

/** A server as a client has it, in one shape for all clients. Texts are as the client writes them. */
export type ForeignEntry = {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables that the client hands on from its own environment. */
  readonly handedOn: readonly string[];
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly transport: 'http' | 'sse' | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers whose values are those of variables, by their names. */
  readonly headersFrom: Readonly<Record<string, string>>;
  /** The variable that holds a token to be sent. */
  readonly tokenFrom: string | undefined;
  readonly isDisabled: boolean;
};

/** Keys that make a server something which the hub has no way to be. */
const unlike: Readonly<Record<string, string>> = {
  auth: 'it signs in with OAuth, which only the client can',
  oauth: 'it signs in with OAuth, which only the client can',
  headersHelper: 'a program of the client makes its headers',
};

/** Reads one entry of a client's file. Answers with a reason where the hub cannot take it. */
export function readForeignEntry(
  entry: unknown,
  client: ClientName,
): ForeignEntry | { readonly why: string } {
  if (!isObject(entry)) return { why: 'it is no object' };
  for (const [key, why] of Object.entries(unlike)) if (isObject(entry[key])) return { why };
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
    return { why: '"args" is no list of strings' };
  return {
    command: url === undefined ? command : undefined,
    args,
    env: textsOf(entry['env']),
    handedOn: client === 'codex' ? namesOf(entry['env_vars']) : [],
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

/** Clients take numbers and switches for texts as well. */
function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  const texts = Object.entries(value).filter(([, text]) =>
    ['string', 'number', 'boolean', 'bigint'].includes(typeof text),
  );
  return Object.fromEntries(texts.map(([name, text]) => [name, String(text)]));
}

/** Newer versions write an object for each, with its name. */
function namesOf(value: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [];
  return names.flatMap(name => textOf(isObject(name) ? name['name'] : name) ?? []);
}
