import type { Config } from './config.ts';
import type { LocalLaunch, ServerConfig } from './normalize.ts';
import { type PackageSpec, volumesOfPackage } from './package-spec.ts';
import { policyWarnings } from './policy-warnings.ts';
import { instanceDefaults } from './server-schema.ts';

/**
 * Returns warnings about settings that are valid but probably not intended, as one log sentence each. `tokenNames` are the
 * names of the clients for which the hub made a token. Pure.
 */
export const warningsOf = (
  config: Config,
  tokenNames: readonly string[] = [],
): readonly string[] => [...findWarnings(config, tokenNames)];

function* findWarnings(config: Config, tokenNames: readonly string[]): Generator<string> {
  const { servers, naming, clients = [] } = config;
  if (naming.separator === '.')
    yield 'naming.separator is ".": some clients and models refuse such names';
  yield* builtinNameWarnings(servers);
  for (const { name, hasPlainToken } of clients)
    if (hasPlainToken)
      yield `clients.${name}.token: the file contains the token itself. Write "\${NAME}" and set the variable in .env, or run \`agenthub token create ${name}\``;
  for (const [name, { url, key }] of Object.entries(config.models?.providers ?? {})) {
    const { protocol, hostname, origin } = new URL(url);
    if (key !== undefined && protocol === 'http:' && !ownHost.test(hostname))
      yield `models.providers.${name}.url: the key and all conversations are sent to ${origin} unencrypted. Use https://`;
  }
  yield* policyWarnings(config, [...builtinNames], tokenNames);
  const enabled = servers.filter(server => server.enabled);
  for (const { name, launch } of enabled)
    if (launch.kind === 'local' && launch.package && !isPinned(launch.package))
      yield `${name}: the package ${launch.package.spec} has no version, so each install gets the newest one. Add a version`;
  for (const { name, launch } of enabled) {
    const text = launch.kind === 'local' ? unplaced(launch) : undefined;
    if (text !== undefined) yield `${name}: ${text}`;
  }
  yield* tagWarnings(enabled);
  for (const server of enabled) {
    const text = server.instance === 'session' ? sharedData(server) : unusedKeys(server);
    if (text !== undefined) yield `${server.name}: ${text}`;
  }
}

/** Warns about tags that `--tags` cannot select. */
function* tagWarnings(servers: readonly ServerConfig[]): Generator<string> {
  for (const { name, tags } of servers)
    for (const tag of tags) {
      const parts = tag.split(',').map(part => part.trim());
      if (parts.length === 1 && parts[0] === tag) continue;
      const others = parts.filter(part => part !== '').map(part => JSON.stringify(part));
      const remedy = others.length === 0 ? 'Remove it' : `Write ${others.join(', ')} instead`;
      yield `${name}: "tags" has ${JSON.stringify(tag)}, which --tags cannot select, as it splits its text at commas and ignores spaces around tags. ${remedy}`;
    }
}

/** Host names and addresses of this machine. */
const ownHost = /^(?:localhost|127\.[\d.]+|\[::1\])$/;

/** True if the spec has an exact version. A tag such as `latest` is none. */
const isPinned = ({ ecosystem, spec }: PackageSpec) =>
  (ecosystem === 'npm' ? /.@\d/ : /==\d/).test(spec);

function unplaced({ command, image, runtime, noPackage, ...launch }: LocalLaunch) {
  if (runtime === 'process')
    return (
      launch.systemPackages &&
      `"system_packages" are not installed for a process, which uses the programs of this machine. Install them there, and remove the key`
    );
  if (launch.own || launch.package || launch.build || image !== undefined) return undefined;
  const written = JSON.stringify(command);
  return noPackage === undefined
    ? `the command ${written} is not in an image, so it cannot start in Docker. Set "image", "package", or "runtime": "process"`
    : `the ${written} command line cannot start in Docker: ${noPackage}`;
}

/** Warns about keys that only affect session instances, on a server that shares one instance. */
function unusedKeys({ maxInstances, instanceIdleMs }: ServerConfig) {
  const unused = [
    ...(maxInstances === instanceDefaults.maxInstances ? [] : ['"max_instances"']),
    ...(instanceIdleMs === instanceDefaults.idleSeconds * 1000 ? [] : ['"instance_idle"']),
  ];
  if (unused.length === 0) return undefined;
  const [have, them] = unused.length === 1 ? ['has', 'it'] : ['have', 'them'];
  return `${unused.join(' and ')} ${have} no effect, as all clients share one instance. Add "instance": "session", or remove ${them}`;
}

/** Warns about session instances that share writable data. */
function sharedData({ name, launch }: ServerConfig) {
  if (launch.kind !== 'local') return undefined;
  const { volumes, mounts } = launch.sandbox;
  const writable = mounts.filter(({ readOnly }) => !readOnly);
  const [first] = [...volumes, ...writable, ...volumesOfPackage(launch.package, name)];
  return (
    first &&
    `with "instance": "session" all instances write to the same data (${first.target}), and writes to the same file can be lost. Use "instance": "shared", unless the server supports this`
  );
}

/**
 * Names of the built-in MCP servers. An entry of the config may use one: the built-in server then gets another name.
 */
const builtinNames: ReadonlySet<string> = new Set([
  'agenthub',
  'agents',
  'tasks',
  'documentation',
  'fan_out',
]);

/**
 * True for names of built-in servers. Imports and installs choose no such name for a server: the built-in one would get
 * another name, and rules of the policy that name it would no longer match it.
 */
export const isBuiltinName = (name: string): boolean => builtinNames.has(name);

/** Returns the current name of a built-in server: `agenthub`, or `agenthub-builtin` if an entry has that name. */
export function builtinNameOf(name: string, isTaken: (name: string) => boolean): string {
  let current = name;
  while (isTaken(current)) current = `${current}-builtin`;
  return current;
}

/** Returns a sentence for each entry that has the name of a built-in server. */
export const builtinNameWarnings = (servers: readonly { readonly name: string }[]) =>
  servers
    .filter(({ name }) => builtinNames.has(name))
    .map(({ name }) => {
      const other = builtinNameOf(name, taken => servers.some(server => server.name === taken));
      return `${name}: the hub has a server of this name itself, which is called ${other} while this entry exists. Rename the entry to avoid confusion`;
    });
