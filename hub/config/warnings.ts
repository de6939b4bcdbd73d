import { builtinNameWarnings } from './builtin-names.ts';
import type { Config, LocalLaunch, PackageSpec, ServerConfig } from './config.ts';
import { pathsOfKnownPackage } from './known-packages.ts';
import { instanceDefaults } from './server-schema.ts';

/** Warnings about settings that are valid but probably not intended, one log sentence each. Pure. */
export function warningsOf({ servers, naming }: Config): readonly string[] {
  const unpinned = servers.flatMap(({ name, enabled, launch }) =>
    enabled && launch.kind === 'local' && launch.package && !isPinned(launch.package)
      ? [
          `${name}: the package ${launch.package.spec} has no version, so each install gets the newest one. Add a version`,
        ]
      : [],
  );
  const unplaced = servers.flatMap(({ name, enabled, launch }) =>
    enabled && launch.kind === 'local' && launch.runtime !== 'process' && !isInAnImage(launch)
      ? [
          launch.noPackage === undefined
            ? `${name}: the command ${JSON.stringify(launch.command)} is not in an image, so it cannot start in Docker. Set "image", "package", or "runtime": "process"`
            : `${name}: the ${JSON.stringify(launch.command)} command line cannot start in Docker: ${launch.noPackage}`,
        ]
      : [],
  );
  const separator =
    naming.separator === '.'
      ? ['naming.separator is ".": some clients and models refuse such names']
      : [];
  const ofInstances = servers.flatMap(server =>
    server.enabled ? [...unusedKeysOf(server), ...sharedDataOf(server)] : [],
  );
  return [...separator, ...builtinNameWarnings(servers), ...unpinned, ...unplaced, ...ofInstances];
}

/** Keys that only affect session instances, on a server that has none. */
function unusedKeysOf({
  name,
  instance,
  maxInstances,
  instanceIdleMs,
}: ServerConfig): readonly string[] {
  if (instance === 'session') return [];
  const unused = [
    ...(maxInstances === instanceDefaults.maxInstances ? [] : ['"max_instances"']),
    ...(instanceIdleMs === instanceDefaults.idleSeconds * 1000 ? [] : ['"instance_idle"']),
  ];
  return unused.length === 0
    ? []
    : [
        `${name}: ${unused.join(' and ')} ${unused.length === 1 ? 'has' : 'have'} no effect, as all clients share one instance. Add "instance": "session", or remove ${unused.length === 1 ? 'it' : 'them'}`,
      ];
}

/** Session instances that share writable data. */
function sharedDataOf({ name, instance, launch }: ServerConfig): readonly string[] {
  if (instance !== 'session' || launch.kind !== 'local') return [];
  const { volumes, mounts } = launch.sandbox;
  const writable = [...volumes, ...mounts.filter(({ readOnly }) => !readOnly)];
  const place = { kind: 'docker', server: name } as const;
  const known = launch.package ? pathsOfKnownPackage(launch.package, place).volumes : [];
  const [first] = [...writable, ...known];
  return first
    ? [
        `${name}: with "instance": "session" all instances write to the same data (${first.target}), and writes to the same file can be lost. Use "instance": "shared", unless the server supports this`,
      ]
    : [];
}

const isInAnImage = (launch: LocalLaunch) =>
  launch.package !== undefined || launch.image !== undefined;

/** True if the spec names one version. A tag such as `latest` does not. */
function isPinned({ ecosystem, spec }: PackageSpec): boolean {
  return ecosystem === 'npm' ? /.@\d/.test(spec) : /==\d/.test(spec);
}
