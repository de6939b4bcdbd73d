import { type JsonObject, isObject } from '#core';
import type { LocalLaunch, RemoteLaunch, ServerConfig } from './normalize.ts';
import type { Sandbox } from './sandbox.ts';
import { expandedKeys, usesIn, variablesIn } from './variables.ts';
import { volumesOfPackage } from './package-spec.ts';
import { bytesOf } from './size.ts';
import { resourceDefaults } from './server-schema.ts';

type LooseningKind =
  | 'build'
  | 'runtime'
  | 'network'
  | 'resources'
  | 'user'
  | 'mount'
  | 'volume'
  | 'variable'
  | 'secret'
  | 'header'
  | 'url'
  | 'sampling'
  | 'sensitive';

/** A setting of an entry that gives its server more permissions than the default sandbox. */
export type Loosening = {
  /**
   * Identifier that a confirmation must repeat, such as `mount:/home/me/notes:/notes:rw`, `network:bridge`, `user:0:0`,
   * `runtime:process`, `variable:GITHUB_TOKEN`, `secret:GITHUB_TOKEN`, `volume:memory-data`, `header:Authorization`,
   * `url:https://host/${KEY}`, `resources:memory=2g`, `sampling:hub` or `allow_sensitive`. Unique within an entry, and stable across reads.
   */
  readonly name: string;
  readonly kind: LooseningKind;
  /** One sentence for users about the effect of this permission on the server. */
  readonly message: string;
  /** True if an entry with this setting must be confirmed when it arrives over the API. */
  readonly needsConfirmation: boolean;
};

/**
 * Lists the settings in an entry that give its server more permissions than the default sandbox. The result has no
 * values of variables, so a caller cannot read the hub's environment. `entry` is as written, `config` the entry as
 * loaded, and `others` the other servers, whose volumes it may share. Pure.
 */
export function findLoosenings(
  entry: JsonObject,
  config: ServerConfig,
  others: readonly ServerConfig[] = [],
): readonly Loosening[] {
  const { launch } = config;
  const found = [
    ...(launch.kind === 'local' ? ofLocal(entry, launch) : ofRemote(entry, launch)),
    ...ofSharedVolumes(config, others),
    ...ofVariables(entry),
  ];
  if (config.sampling === 'hub') {
    const message =
      'It can use the models of the hub, whose providers may bill you, and send them what it can read.';
    found.push(loosening('sampling', 'hub', message));
  }
  if (entry['allow_sensitive'] === true) {
    const message = 'Its mounts may contain keys and passwords of this machine.';
    found.push({ ...loosening('sensitive', '', message), name: 'allow_sensitive' });
  }
  return [...new Map(found.map(one => [one.name, one])).values()];
}

const loosening = (
  kind: LooseningKind,
  setting: string,
  message: string,
  needsConfirmation = true,
): Loosening => ({ name: `${kind}:${setting}`, kind, message, needsConfirmation });

function ofLocal(entry: JsonObject, launch: LocalLaunch): readonly Loosening[] {
  const { network, user } = launch.sandbox;
  const found: Loosening[] = [];
  if (launch.runtime === 'process') {
    const message = `It runs ${JSON.stringify(commandOf(entry))} on this machine with your permissions and without a sandbox.`;
    found.push(loosening('runtime', 'process', message));
  }
  if (network === 'bridge') {
    const message = 'It can reach the network, and send everything it can read.';
    found.push(loosening('network', network, message));
  } else if (network !== 'none')
    for (const target of network.allow) {
      const message = `It can reach ${target}, and send there everything it can read.`;
      found.push(loosening('network', target, message));
    }
  if (launch.build) {
    const message = `An image is built of the files in ${launch.build.folder} of this machine. The build steps can read them, and reach the network.`;
    found.push(loosening('build', launch.build.folder, message));
  }
  if (user !== undefined) found.push(ofUser(user));
  for (const { source, target, readOnly } of mountsOf(entry, launch)) {
    const message = readOnly
      ? `It can read ${source} of this machine.`
      : `It can read, change and delete everything in ${source} of this machine.`;
    const setting = `${source}:${target}:${readOnly ? 'ro' : 'rw'}`;
    found.push(loosening('mount', setting, message, !readOnly));
  }
  return [...found, ...ofLimits(entry, launch)];
}

/** Finds limits above the default ones. They need no confirmation over the API, whose callers set them on purpose. */
function ofLimits({ resources }: JsonObject, { sandbox: { limits } }: LocalLaunch) {
  const { memory, cpus, pids, scratch, volumes } = resourceDefaults;
  const all = [
    ['memory', limits.memoryBytes, bytesOf(memory)],
    ['cpus', limits.cpus, cpus],
    ['pids', limits.pids, pids],
    ['scratch', limits.scratchBytes, bytesOf(scratch)],
    ['volumes', limits.volumeBytes, bytesOf(volumes)],
  ] as const;
  return all.flatMap(([key, limit, usual]) => {
    if (limit <= usual) return [];
    const written = isObject(resources) ? resources[key] : undefined;
    const shown = typeof written === 'string' ? written : String(limit);
    const message = `Its limit of ${key} is ${shown}, and the default ${resourceDefaults[key]}.`;
    return [loosening('resources', `${key}=${shown}`, message, false)];
  });
}

/** Returns the command line as written, with `${NAME}` unexpanded. */
function commandOf({ command, package: named, args }: JsonObject): string {
  const words = [command ?? named, ...(Array.isArray(args) ? args : [])];
  return words.filter(word => typeof word === 'string').join(' ');
}

/** Returns the mounts with resolved paths. A mount that contains a variable is shown as written. */
function mountsOf(entry: JsonObject, { sandbox }: LocalLaunch): Sandbox['mounts'] {
  const written = Array.isArray(entry['mounts']) ? entry['mounts'] : [];
  return sandbox.mounts.map((mount, index) => {
    const { source, target } = asWritten(written[index]);
    return variablesIn(`${source}${target}`).length === 0 ? mount : { ...mount, source, target };
  });
}

function asWritten(mount: unknown): { readonly source: string; readonly target: string } {
  if (typeof mount === 'string') {
    // A default value in a variable also contains a colon, as in `${A:-b}`.
    const [, source = mount, target = ''] = /^(.+):(\/[^:]*?)(?::(?:ro|rw))?$/s.exec(mount) ?? [];
    return { source, target };
  }
  const { source, target } = isObject(mount) ? mount : {};
  return { source: String(source), target: String(target) };
}

/** Describes the permission that `user` gives. A user name needs confirmation too: the image may map it to root. */
function ofUser(user: string): Loosening {
  const parts = user.split(':');
  const ofRoot = `It runs as root in its container ("user": "${user}"), and files that it creates in mounts belong to root.`;
  if (parts.some(part => /^0+$/.test(part) || part === 'root'))
    return loosening('user', user, ofRoot);
  const isNumber = parts.every(part => /^\d+$/.test(part));
  const message = isNumber
    ? `It runs as user ${user}, with that user's permissions on all mounts.`
    : `It runs as ${user}. The image decides which user that is; it may be root.`;
  return loosening('user', user, message, !isNumber);
}

function ofRemote(entry: JsonObject, { url, headers }: RemoteLaunch): readonly Loosening[] {
  const { url: written } = entry;
  const hasVariables = typeof written === 'string' && variablesIn(written).length > 0;
  const host = (hasVariables ? undefined : URL.parse(url)?.host) ?? 'its address';
  const ofHeaders = Object.keys(headers).map(name => {
    const message = `The hub sends the header ${name} to ${host} with every request.`;
    return loosening('header', name, message, false);
  });
  if (!hasVariables) return ofHeaders;
  const message = `Variables of the hub's environment, or secrets, become part of the URL ${written}.`;
  return [loosening('url', written, message, false), ...ofHeaders];
}

/** Finds volumes that another server uses too, so that both servers can read and change each other's data. */
const ofSharedVolumes = (config: ServerConfig, others: readonly ServerConfig[]) =>
  volumesOf(config).flatMap(volume => {
    const other = others.find(one => one.name !== config.name && volumesOf(one).includes(volume));
    if (!other) return [];
    const message = `It can read and change the data of the server ${other.name} in the volume ${volume}.`;
    return [loosening('volume', volume, message)];
  });

function volumesOf({ name, launch }: ServerConfig): readonly string[] {
  if (launch.kind !== 'local') return [];
  const known = volumesOfPackage(launch.package, name);
  return [...launch.sandbox.volumes, ...known].map(volume => volume.name);
}

function ofVariables(entry: JsonObject): readonly Loosening[] {
  const uses = expandedKeys.flatMap(key => [...usesIn(entry[key], key)]);
  return [...Map.groupBy(uses, ({ name }) => name)].map(([name, places]) => {
    const paths = places.map(({ path }) => path).join(', ');
    const secret = /^secret:(.*)/.exec(name)?.[1];
    if (secret !== undefined)
      return loosening('secret', secret, `It can read the secret ${secret} (in ${paths}).`);
    const message = `It can read ${name} of the hub's environment or .env (in ${paths}).`;
    return loosening('variable', name, message);
  });
}
