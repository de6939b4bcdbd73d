import { join } from 'node:path';
import { execPath } from 'node:process';
import {
  type LocalLaunch,
  type PackageSpec,
  type ServerConfig,
  pathsOfKnownPackage,
} from '#config';
import { HubError } from '#core';
import type { DockerTarget, ImageSource, LaunchSpec, Target } from '#runtimes';

/** Returns the folder that a server writes to when it runs as a process. */
export const serverFolder = (dataDir: string, server: string) => join(dataDir, 'servers', server);

/** Where the hub runs local servers, determined once at its start. */
export type Placement = {
  /** Runtime of servers with `auto`: `process` only if no engine answered and the hub does not run in a container. */
  readonly auto: 'docker' | 'process';
  /** Absolute path of the data folder. */
  readonly dataDir: string;
  /** Folder of the hub's own servers. Absent: those servers cannot run as processes. */
  readonly imagesDir?: string;
};

/** Maximum number of bytes that wait for a server to read them; further calls are refused. */
const maxWaitingBytes = 64 * 1024 * 1024;

/**
 * Returns the launch spec of a config. `instance` distinguishes it from the shared instance. Pure. Throws
 * HUB_LAUNCH_INVALID.
 */
export function planLaunch(config: ServerConfig, place: Placement, instance?: string): LaunchSpec {
  const { launch, secretFaults } = config;
  if (secretFaults)
    throw new HubError('HUB_LAUNCH_INVALID', `${config.name}: ${secretFaults.join('. ')}`, {
      data: { server: config.name },
    });
  const common = {
    server: config.name,
    ...(instance !== undefined && { instance }),
    maxLineBytes: config.maxLineBytes,
    maxWaitingBytes,
  };
  if (launch.kind === 'remote') {
    const { transport, url, headers } = launch;
    return { ...common, target: { kind: 'remote', transport, url, headers }, env: {} };
  }
  const runtime = runtimeOf(launch, place.auto);
  const known = launch.package
    ? pathsOfKnownPackage(
        launch.package,
        runtime === 'docker'
          ? { kind: 'docker', server: config.name }
          : { kind: 'process', dataDir: serverFolder(place.dataDir, config.name) },
      )
    : { env: {}, volumes: [] };
  const target =
    runtime === 'docker'
      ? dockerTarget(config.name, launch, known.volumes)
      : processTarget(config.name, launch, place);
  const { secretEnv = [] } = config;
  return {
    ...common,
    target,
    env: { ...known.env, ...launch.env },
    ...(secretEnv.length > 0 && { secretEnv }),
  };
}

/** Returns the config as if all its secrets were set: volumes and images do not depend on their values. */
export const withoutSecretFaults = (config: ServerConfig): ServerConfig => ({
  ...config,
  secretFaults: undefined,
});

/** Returns the volumes that a config would have in a container. Pure. */
export function volumesOf(config: ServerConfig): DockerTarget['volumes'] {
  try {
    const { target } = planLaunch(withoutSecretFaults(config), { auto: 'docker', dataDir: '/' });
    return target.kind === 'docker' ? target.volumes : [];
  } catch {
    return []; // The config cannot be launched in a container.
  }
}

/**
 * Returns the runtime of a launch. An image, also one built of a folder, always runs in a container, even while the
 * engine is unreachable. Pure.
 */
export function runtimeOf(launch: LocalLaunch, auto: Placement['auto']): 'docker' | 'process' {
  if (launch.runtime !== 'auto') return launch.runtime;
  return launch.image === undefined && !launch.build ? auto : 'docker';
}

/** True if two instances must not run at the same time, as they would write to the same volumes or folders. Pure. */
export function isExclusive({ target }: LaunchSpec): boolean {
  if (target.kind === 'remote') return false;
  return (
    target.kind === 'process' ||
    target.volumes.length > 0 ||
    target.mounts.some(({ readOnly }) => !readOnly)
  );
}

function dockerTarget(
  server: string,
  launch: LocalLaunch,
  volumes: LocalLaunch['sandbox']['volumes'],
): Target {
  const { sandbox, image: reference, command, workingDirectory } = launch;
  const image = imageSourceOf(server, launch);
  if (!image)
    throw new HubError(
      'HUB_LAUNCH_INVALID',
      launch.noPackage === undefined
        ? `${server}: the command ${JSON.stringify(command)} is not in any image. Set "image" to one that holds it, "package" to an npm or PyPI package, or "runtime": "process" to run it on this machine without a sandbox`
        : `${server}: the line of ${JSON.stringify(command)} cannot become an image: ${launch.noPackage}`,
      { data: { server } },
    );
  const taken = new Set([...sandbox.volumes, ...sandbox.mounts].map(({ target }) => target));
  return {
    kind: 'docker',
    image: { ...image, ...(launch.systemPackages && { systemPackages: launch.systemPackages }) },
    ...(command !== undefined && { command }),
    args: launch.args,
    // The working directory is a path on this machine, which does not exist in the image of a package.
    ...((reference ?? launch.build) !== undefined &&
      workingDirectory !== undefined && { workingDirectory }),
    ...(sandbox.user !== undefined && { user: sandbox.user }),
    network: sandbox.network,
    mounts: sandbox.mounts,
    volumes: [...sandbox.volumes, ...volumes.filter(({ target }) => !taken.has(target))],
    limits: sandbox.limits,
    logs: sandbox.logs,
  };
}

/**
 * Returns the source of the image; undefined for a command without an image. Throws HUB_LAUNCH_INVALID for a folder
 * that cannot be built.
 */
function imageSourceOf(server: string, launch: LocalLaunch): ImageSource | undefined {
  const { own, image: reference, package: source, build } = launch;
  if (reference !== undefined) return { reference };
  if (own !== undefined) return { context: own };
  if (source) return { package: source };
  if (!build) return undefined;
  if ('fault' in build)
    throw new HubError(
      'HUB_LAUNCH_INVALID',
      `${server}: the folder ${build.folder} ${build.fault}`,
      {
        data: { server },
      },
    );
  return { build };
}

function processTarget(
  server: string,
  launch: LocalLaunch,
  { imagesDir }: Pick<Placement, 'imagesDir'>,
): Target {
  if (typeof launch.sandbox.network === 'object')
    throw new HubError(
      'HUB_LAUNCH_INVALID',
      `${server} would run as a process, for which "network.allow" cannot be enforced. Start Docker, or remove "network"`,
      { data: { server } },
    );
  const { own, command, args, workingDirectory, written } = launch;
  if (own !== undefined && imagesDir !== undefined)
    return { kind: 'process', command: execPath, args: [join(imagesDir, own, `${own}.mjs`)] };
  const place = workingDirectory === undefined ? {} : { workingDirectory };
  if (written) return { kind: 'process', ...written, ...place };
  if (launch.package)
    return { kind: 'process', ...launcherLine(launch.package, command, args), ...place };
  if (command === undefined)
    throw new HubError('HUB_LAUNCH_INVALID', `${server}: neither "command" nor "package" is set`, {
      data: { server },
    });
  return { kind: 'process', command, args, ...place };
}

/** Returns the npx or uvx command that runs a package, or another program of the package. */
function launcherLine(
  { ecosystem, spec, with: extras = [], python }: PackageSpec,
  program: string | undefined,
  args: readonly string[],
) {
  if (ecosystem === 'pypi')
    return {
      command: 'uvx',
      args: [
        ...(python === undefined ? [] : ['--python', python]),
        ...extras.flatMap(extra => ['--with', extra]),
        '--from',
        spec,
        program ?? nameOf(spec),
        ...args,
      ],
    };
  if (program === undefined && extras.length === 0)
    return { command: 'npx', args: ['-y', spec, ...args] };
  const packages = [spec, ...extras].map(one => `--package=${one}`);
  const own = spec.replace(/^@[^/]*\//, '').replace(/@.*$/, '');
  return { command: 'npx', args: ['-y', ...packages, program ?? own, ...args] };
}

/**
 * Returns the name of a Python distribution, which is also its command: `mcp-server-time` for `mcp-server-time==1.0`.
 */
const nameOf = (spec: string) => /^[A-Za-z0-9._-]+/.exec(spec)?.[0] ?? spec;
