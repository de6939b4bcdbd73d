import { join } from 'node:path';
import { type LocalLaunch, type ServerConfig, pathsOfKnownPackage } from '#config';
import { HubError } from '#core';
import type { DockerTarget, LaunchSpec, PackageSource, Target } from '#runtimes';

/** The folder that a server writes to which runs as a process. */
export const serverFolder = (dataDir: string, server: string) => join(dataDir, 'servers', server);

/** What the hub can run local servers on, found out once when it starts. */
export type Placement = {
  /** `process` only where no engine answered and the hub is no container itself. */
  readonly auto: 'docker' | 'process';
  /** An absolute path. */
  readonly dataDir: string;
};

/** More than this waiting for a server to read it, and calls are refused. In bytes. */
const maxWaitingBytes = 64 * 1024 * 1024;

/**
 * How to launch a server: its config, and where it goes; `instance` tells it from the one that all clients
 * share. Pure. Throws HUB_LAUNCH_INVALID.
 */
export function planLaunch(config: ServerConfig, place: Placement, instance?: string): LaunchSpec {
  const { launch } = config;
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
      : processTarget(config.name, launch);
  return { ...common, target, env: { ...known.env, ...launch.env } };
}

/** The volumes that a config would have in a container, also where it has none of it yet. Pure. */
export function volumesOf(config: ServerConfig): DockerTarget['volumes'] {
  try {
    const { target } = planLaunch(config, { auto: 'docker', dataDir: '/' });
    return target.kind === 'docker' ? target.volumes : [];
  } catch {
    // What cannot be launched in one has none.
    return [];
  }
}

/** An image runs in a container or not at all: it waits for an engine that is away. Pure. */
export function runtimeOf(launch: LocalLaunch, auto: Placement['auto']): 'docker' | 'process' {
  if (launch.runtime !== 'auto') return launch.runtime;
  return launch.image === undefined ? auto : 'docker';
}

/**
 * Whether two instances of it must not run at once: they would write to the same volumes, folders or, as
 * processes, anywhere. Pure.
 */
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
  const { sandbox, image, command, workingDirectory } = launch;
  if (image === undefined && !launch.package)
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
    image: image === undefined ? { package: packageOf(launch) } : { reference: image },
    ...(command !== undefined && { command }),
    args: launch.args,
    // A working folder of this machine means nothing in the image of a package.
    ...(image !== undefined && workingDirectory !== undefined && { workingDirectory }),
    ...(sandbox.user !== undefined && { user: sandbox.user }),
    network: sandbox.network,
    mounts: sandbox.mounts,
    volumes: [...sandbox.volumes, ...volumes.filter(({ target }) => !taken.has(target))],
    limits: sandbox.limits,
    logs: sandbox.logs,
  };
}

function processTarget(server: string, launch: LocalLaunch): Target {
  const { command, args, workingDirectory, written } = launch;
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

/** The line of npx or uvx that runs a package, or another program of it. */
function launcherLine(
  { ecosystem, spec, with: extras = [], python }: PackageSource,
  program: string | undefined,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
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

function packageOf(launch: LocalLaunch): PackageSource {
  if (!launch.package) throw new TypeError('a launch without image has a package');
  return launch.package;
}

/** The distribution's name, which is also the name of its command: `mcp-server-time==1.0` to `mcp-server-time`. */
const nameOf = (spec: string) => /^[A-Za-z0-9._-]+/.exec(spec)?.[0] ?? spec;
