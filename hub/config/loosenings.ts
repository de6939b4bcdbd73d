import { type JsonObject, isObject } from '#core';
import type { LocalLaunch, RemoteLaunch, Sandbox, ServerConfig } from './config.ts';
import { expandedKeys, variablesIn } from './expand-variables.ts';
import { pathsOfKnownPackage } from './known-packages.ts';

export type LooseningKind =
  'runtime' | 'network' | 'user' | 'mount' | 'volume' | 'variable' | 'header' | 'url' | 'sensitive';

/** A setting of an entry that gives its server more permissions than the default sandbox. */
export type Loosening = {
  /**
   * Identifier that a confirmation repeats, such as `mount:/home/me/notes:/notes:rw`, `network:bridge`, `user:0:0`,
   * `runtime:process`, `variable:GITHUB_TOKEN`, `volume:memory-data`, `header:Authorization`,
   * `url:https://host/${KEY}` or `allow_sensitive`. Unique within an entry, and stable across reads.
   */
  readonly name: string;
  readonly kind: LooseningKind;
  /** One sentence for users: what the server could do with it. */
  readonly message: string;
  /**
   * True if an entry that arrives over the API must be confirmed because of it. Read-only mounts, for example, need
   * no confirmation.
   */
  readonly needsConfirmation: boolean;
};

/**
 * Lists everything in an entry that gives its server more permissions than the default sandbox. The result contains
 * no values of variables, so a caller cannot read the hub's environment through an entry. Pure.
 *
 * @param entry The entry as it would be written to the file, with `${NAME}` unexpanded.
 * @param config The entry as loaded: paths are absolute, symbolic links resolved.
 * @param others The other servers of the file. A volume that the server shares with one of them is reported.
 */
export function findLoosenings(
  entry: JsonObject,
  config: ServerConfig,
  others: readonly ServerConfig[] = [],
): readonly Loosening[] {
  const { launch } = config;
  const ofLaunch =
    launch.kind === 'local' ? looseningsOfLocal(entry, launch) : looseningsOfRemote(entry, launch);
  const shared = sharedVolumesOf(config, others);
  return [...ofLaunch, ...shared, ...variableLoosenings(entry), ...sensitiveLoosening(entry)];
}

function looseningsOfLocal(entry: JsonObject, launch: LocalLaunch): readonly Loosening[] {
  const { network, user } = launch.sandbox;
  const found: Loosening[] = [];
  if (launch.runtime === 'process')
    found.push({
      name: 'runtime:process',
      kind: 'runtime',
      message: `It runs ${JSON.stringify(commandOf(entry))} on this machine with your permissions and without a sandbox.`,
      needsConfirmation: true,
    });
  if (network !== 'none')
    found.push({
      name: `network:${network}`,
      kind: 'network',
      message: 'It can reach the network, and send everything it can read.',
      needsConfirmation: true,
    });
  if (user !== undefined) found.push(userLoosening(user));
  for (const { source, target, readOnly } of mountsOf(entry, launch))
    found.push({
      name: `mount:${source}:${target}:${readOnly ? 'ro' : 'rw'}`,
      kind: 'mount',
      message: readOnly
        ? `It can read ${source} of this machine.`
        : `It can read, change and delete everything in ${source} of this machine.`,
      needsConfirmation: !readOnly,
    });
  return unique(found);
}

/** The command line as written, with `${NAME}` unexpanded. */
function commandOf({ command, package: named, args }: JsonObject): string {
  const words = [command ?? named, ...(Array.isArray(args) ? args : [])];
  return words.filter(word => typeof word === 'string').join(' ');
}

/** The mounts with their resolved paths. A mount that contains a variable is shown as written. */
function mountsOf(entry: JsonObject, { sandbox }: LocalLaunch): Sandbox['mounts'] {
  const written = Array.isArray(entry['mounts']) ? entry['mounts'] : [];
  return sandbox.mounts.map((mount, index) => {
    const { source, target } = asWritten(written[index]);
    return variablesIn(`${source}${target}`).length === 0
      ? mount
      : { source, target, readOnly: mount.readOnly };
  });
}

function asWritten(mount: unknown): { readonly source: string; readonly target: string } {
  if (typeof mount === 'string') {
    // A default value, as in "${A:-b}", also contains a colon.
    const [, source = mount, target = ''] = /^(.+):(\/[^:]*?)(?::(?:ro|rw))?$/s.exec(mount) ?? [];
    return { source, target };
  }
  const { source, target } = isObject(mount) ? mount : {};
  return { source: String(source), target: String(target) };
}

/** User and group names are looked up in the image's own files, which may map any name to root. */
function userLoosening(user: string): Loosening {
  const parts = user.split(':');
  const named = parts.find(part => !/^\d+$/.test(part));
  const isRoot = parts.some(part => /^0+$/.test(part) || part === 'root');
  const message = isRoot
    ? `It runs as root in its container ("user": "${user}"), and files that it creates in mounts belong to root.`
    : named === undefined
      ? `It runs as user ${user}, with that user's permissions on all mounts.`
      : `It runs as ${user}. The image decides which user that is; it may be root.`;
  const needsConfirmation = isRoot || named !== undefined;
  return { name: `user:${user}`, kind: 'user', message, needsConfirmation };
}

function looseningsOfRemote(
  entry: JsonObject,
  { url, headers }: RemoteLaunch,
): readonly Loosening[] {
  const written = entry['url'];
  const hasVariables = typeof written === 'string' && variablesIn(written).length > 0;
  const host = (hasVariables ? undefined : URL.parse(url)?.host) ?? 'its address';
  const ofHeaders = Object.keys(headers).map((name): Loosening => ({
    name: `header:${name}`,
    kind: 'header',
    message: `The hub sends the header ${name} to ${host} with every request.`,
    needsConfirmation: false,
  }));
  if (!hasVariables) return ofHeaders;
  const message = `Variables of the hub's environment become part of the URL ${written}.`;
  return [{ name: `url:${written}`, kind: 'url', message, needsConfirmation: false }, ...ofHeaders];
}

/** Volumes that another server uses too: each of the servers can read and change the other's data. */
function sharedVolumesOf(
  config: ServerConfig,
  others: readonly ServerConfig[],
): readonly Loosening[] {
  return unique(
    volumesOf(config).flatMap((volume): readonly Loosening[] => {
      const other = others.find(one => one.name !== config.name && volumesOf(one).includes(volume));
      if (!other) return [];
      const message = `It can read and change the data of the server ${other.name} in the volume ${volume}.`;
      return [{ name: `volume:${volume}`, kind: 'volume', message, needsConfirmation: true }];
    }),
  );
}

function volumesOf({ name, launch }: ServerConfig): readonly string[] {
  if (launch.kind !== 'local') return [];
  const place = { kind: 'docker', server: name } as const;
  const known = launch.package ? pathsOfKnownPackage(launch.package, place).volumes : [];
  return [...launch.sandbox.volumes, ...known].map(volume => volume.name);
}

function variableLoosenings(entry: JsonObject): readonly Loosening[] {
  const places = new Map<string, string[]>();
  const collectVariables = (value: unknown, path: string): void => {
    if (typeof value === 'string')
      for (const name of variablesIn(value)) places.set(name, [...(places.get(name) ?? []), path]);
    else if (Array.isArray(value))
      for (const [index, item] of value.entries()) collectVariables(item, `${path}[${index}]`);
    else if (isObject(value))
      for (const [key, item] of Object.entries(value)) collectVariables(item, `${path}.${key}`);
  };
  for (const key of expandedKeys) collectVariables(entry[key], key);
  return [...places].map(([name, paths]) => ({
    name: `variable:${name}`,
    kind: 'variable',
    message: `It can read ${name} of the hub's environment or .env (in ${paths.join(', ')}).`,
    needsConfirmation: true,
  }));
}

function sensitiveLoosening(entry: JsonObject): readonly Loosening[] {
  if (entry['allow_sensitive'] !== true) return [];
  const message = 'Its mounts may contain keys and passwords of this machine.';
  return [{ name: 'allow_sensitive', kind: 'sensitive', message, needsConfirmation: true }];
}

const unique = (found: readonly Loosening[]): readonly Loosening[] => [
  ...new Map(found.map(one => [one.name, one])).values(),
];
