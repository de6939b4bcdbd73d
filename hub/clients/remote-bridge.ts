import { findPackageLine } from '#config';
import { type JsonObject, isObject, tryParseJson } from '#core';
import { endsInSse, oauthOf } from './client/entry.ts';

/** The remote server to which a command line of mcp-remote connects. Values are as the client wrote them. */
export type RemoteBridge = {
  readonly url: string;
  readonly transport: 'http' | 'sse';
  readonly headers: Readonly<Record<string, string>>;
  /** Value of `oauth` in the hub's entry; undefined if the command line has neither client id nor scopes. */
  readonly oauth: JsonObject | undefined;
  readonly deniedTools: readonly string[];
};

/** Options that are ignored: they only affect how mcp-remote runs, or its login, which the hub performs itself. */
const switches = ['--allow-http', '--debug', '--silent', '--enable-proxy'];
const ignored = ['--host', '--resource', '--auth-timeout'];
const valued = [
  '--header',
  '--transport',
  '--ignore-tool',
  '--static-oauth-client-info',
  '--static-oauth-client-metadata',
];

/**
 * Reads the arguments of npx if they run mcp-remote, a bridge for clients that cannot connect to remote servers. The
 * hub connects to the server itself. Returns undefined for another program, and a reason for options without an
 * equivalent.
 */
export function readRemoteBridge(
  args: readonly string[],
): RemoteBridge | { readonly why: string } | undefined {
  const line = findPackageLine('npx', args);
  if (!line || 'why' in line || !/^mcp-remote(?:@|$)/.test(line.package.spec)) return undefined;
  if (line.program !== undefined) return undefined;
  const found = new Map<string, readonly string[]>();
  const words: string[] = [];
  for (let at = 0; at < line.args.length; at++) {
    const word = line.args[at] ?? '';
    if (!word.startsWith('-')) {
      words.push(word);
      continue;
    }
    if (switches.includes(word)) continue;
    if (![...ignored, ...valued].includes(word))
      return {
        why: `the option ${JSON.stringify(word)} of mcp-remote has no equivalent in the hub. Add the server by hand, with "url"`,
      };
    found.set(word, [...(found.get(word) ?? []), line.args[++at] ?? '']);
  }
  const [url] = words;
  if (url === undefined) return { why: 'its mcp-remote line names no URL' };
  const last = (option: string) => found.get(option)?.at(-1);
  const way = last('--transport');
  const login = objectIn(last('--static-oauth-client-info'));
  return {
    url,
    transport:
      way === 'sse-only' || way === 'sse-first' || (way !== 'http-only' && endsInSse(url))
        ? 'sse'
        : 'http',
    headers: Object.fromEntries(
      (found.get('--header') ?? []).flatMap(text => {
        const [, name, value] = /^([^:]+):\s*([^]*)$/.exec(text) ?? [];
        return name === undefined || value === undefined ? [] : [[name.trim(), value]];
      }),
    ),
    oauth: oauthOf({
      id: login['client_id'],
      secret: login['client_secret'],
      scopes: objectIn(last('--static-oauth-client-metadata'))['scope'],
    }),
    deniedTools: found.get('--ignore-tool') ?? [],
  };
}

/** Parses a JSON object. A file name (`@client.json`) counts as absent: the hub then registers itself as a client. */
function objectIn(text: string | undefined): Readonly<Record<string, unknown>> {
  const value = text === undefined ? undefined : tryParseJson(text);
  return isObject(value) ? value : {};
}
