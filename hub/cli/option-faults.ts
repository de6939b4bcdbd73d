import { HubError } from '#core';
import { type HubClient, listServers } from './hub-client.ts';
import { objectsIn } from './responses.ts';
import { usageError } from './values.ts';

/** Options, and the argument `package`, by the keys of the entry that they set. */
export const entryOptions: ReadonlyMap<string | undefined, string> = new Map([
  ['args', '--arg'],
  ['env', '--env'],
  ['headers', '--header'],
  ['mounts', '--mount'],
  ['network', '--network'],
  ['package', 'package'],
  ['system_packages', '--system-package'],
  ['tags', '--tag'],
  ['url', 'package'],
  ['volumes', '--volume'],
  ['with', '--with'],
]);

/**
 * Converts an error about a server's entry that the command line describes: names the options to correct, instead of
 * places in the config file. Returns an error that is also about other parts of the config unchanged.
 */
export function inOptions(
  error: unknown,
  isNew: (server: string) => boolean,
  options: typeof entryOptions,
): unknown {
  if (!(error instanceof HubError) || error.code !== 'HUB_CONFIG_INVALID') return error;
  const told = objectsIn(error.data['problems']).map(({ path, message }) => {
    const text = String(message);
    const place = `${String(path)}: `;
    const at = text.indexOf(place);
    const option = optionAt(String(path), isNew, options);
    return option !== undefined && at !== -1 ? `${option}: ${text.slice(at + place.length)}` : '';
  });
  return told.length === 0 || told.includes('') ? error : usageError(told.join('\n'), error);
}

/**
 * Does the same as `inOptions` for an entry that a hub refused. Without a name, the entry is that of a server that the
 * hub does not have yet.
 */
export async function inOptionsOf(
  error: unknown,
  name: string | undefined,
  hub: HubClient,
  options: typeof entryOptions,
): Promise<unknown> {
  if (!(error instanceof HubError) || error.code !== 'HUB_CONFIG_INVALID') return error;
  const servers = name === undefined ? await listServers(hub).catch(() => []) : [];
  const isNew = (server: string) =>
    name === undefined ? servers.every(one => one['name'] !== server) : server === name;
  return inOptions(error, isNew, options);
}

/**
 * Path of a problem: `servers.NAME` or `mcpServers.NAME`, a key of the entry, and the key or index inside it. Unusual
 * names are in brackets, as JSON.
 */
const placePattern =
  /^(?:servers|mcpServers)(?:\.([\w$-]+)|\[("(?:[^"\\]|\\.)*")\])(?:\.(\w+)(?:\[\d+\]|\.([\w$-]+)|\[("(?:[^"\\]|\\.)*")\])?)?$/;

function optionAt(
  path: string,
  isNew: (server: string) => boolean,
  options: typeof entryOptions,
): string | undefined {
  const [match, bare, quoted = 'null', key, member, quotedMember] = placePattern.exec(path) ?? [];
  if (match === undefined || !isNew(bare ?? String(JSON.parse(quoted)))) return undefined;
  const option = key === undefined ? '--name' : options.get(key);
  const inside = member ?? quotedMember;
  return option === undefined || inside === undefined ? option : `${option} ${inside}`;
}
