import type { LocalLaunch, RemoteLaunch, ServerConfig } from '#config';
import { withoutSecrets } from '#core';
import { planLaunch, runtimeOf } from '#servers';

/** Text in place of values that may be secrets, so that no page shows them. */
const hidden = '[redacted]';
const hideAll = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.keys(values).map(name => [name, hidden]));

/**
 * Returns the config of a server in the format of the config file, with all defaults, but without values of environment
 * and headers.
 */
export function entryOf(config: ServerConfig): Readonly<Record<string, unknown>> {
  const { launch } = config;
  return {
    description: config.description,
    tags: config.tags,
    enabled: config.enabled,
    auto_start: config.autoStart,
    ...(launch.kind === 'remote' ? remoteEntry(launch) : localEntry(launch)),
    restart: config.restart,
    max_restarts: config.maxRestarts,
    health_check_interval: config.healthCheckIntervalMs / 1000,
    start_timeout: config.startTimeoutMs / 1000,
    timeout: config.callTimeoutMs / 1000,
    input_timeout: config.inputTimeoutMs / 1000,
    max_concurrent_calls: config.maxConcurrentCalls,
    max_queued_calls: config.maxQueuedCalls,
    max_notifications: config.maxNotifications,
    max_line: config.maxLineBytes,
    idle_stop: config.idleStopMs === undefined ? undefined : config.idleStopMs / 1000,
    instance: config.instance,
    max_instances: config.maxInstances,
    instance_idle: config.instanceIdleMs / 1000,
    era: config.era,
    sampling: config.sampling,
  };
}

const remoteEntry = ({ transport, url, headers }: RemoteLaunch) => ({
  transport,
  url: withoutSecrets(url),
  headers: hideAll(headers),
});

function localEntry({ package: wanted, sandbox, ...launch }: LocalLaunch) {
  const { limits } = sandbox;
  return {
    runtime: launch.runtime,
    package:
      launch.own === undefined
        ? wanted && `${wanted.ecosystem === 'pypi' ? 'uvx:' : ''}${wanted.spec}`
        : `agenthub:${launch.own}`,
    image: launch.image,
    build: launch.build?.folder,
    system_packages: launch.systemPackages,
    command: launch.command,
    args: launch.args,
    env: hideAll(launch.env),
    cwd: launch.workingDirectory,
    network: sandbox.network,
    mounts: sandbox.mounts.map(({ source, target, readOnly }) => ({
      source,
      target,
      read_only: readOnly,
    })),
    volumes: sandbox.volumes,
    resources: {
      memory: limits.memoryBytes,
      cpus: limits.cpus,
      pids: limits.pids,
      scratch: limits.scratchBytes,
      volumes: limits.volumeBytes,
    },
    logs: sandbox.logs,
    user: sandbox.user,
  };
}

function networkText(network: LocalLaunch['sandbox']['network']): string {
  if (network === 'none') return 'none';
  return network === 'bridge'
    ? 'bridge: the internet through a proxy, and no other server'
    : `only ${network.allow.join(', ') || 'nothing yet'}`;
}

/** Isolation of a server, as its page describes it. */
type SandboxView = {
  /** True if the server is isolated; false for a process on the hub's machine. */
  readonly isThere: boolean;
  readonly rows: readonly (readonly [name: string, value: string])[];
};

/** Describes the effective sandbox of a server. `backend` is the default runtime. */
export function sandboxOf(config: ServerConfig, backend: 'docker' | 'process'): SandboxView {
  const { launch } = config;
  if (launch.kind === 'remote')
    return {
      isThere: true,
      rows: [
        ['Runs', 'elsewhere: the hub only speaks to it'],
        ['Address', withoutSecrets(launch.url)],
      ],
    };
  // Without an image there is no plan, as the server cannot run. Paths of data folders are not shown.
  const plan =
    runtimeOf(launch, backend) === 'docker' &&
    launch.image === undefined &&
    !launch.package &&
    (!launch.build || 'fault' in launch.build) &&
    launch.own === undefined
      ? undefined
      : planLaunch(config, { auto: backend, dataDir: '/' }).target;
  if (plan?.kind !== 'docker') return { isThere: false, rows: [] };
  const { network, user, mounts, volumes, limits, logs } = plan;
  const mounted = mounts.map(
    ({ source, target, readOnly }) =>
      `${source} at ${target}, ${readOnly ? 'read-only' : 'writable'}`,
  );
  return {
    isThere: true,
    rows: [
      ['Network', networkText(network)],
      ['User', user ?? 'unprivileged: that of the image unless it is root, else 65532'],
      ['Memory', `${Math.round(limits.memoryBytes / 2 ** 20)} MiB, no swap`],
      ['CPUs', String(limits.cpus)],
      ['Processes', `${limits.pids} at most`],
      ['Root file system', 'read-only; /tmp and the home folder are in memory'],
      ['Capabilities', 'none, and no way to gain any'],
      ['Mounts', mounted.join('\n') || 'none'],
      ['Volumes', volumes.map(({ name, target }) => `${name} at ${target}`).join('\n') || 'none'],
      ['Log of the engine', logs === 'none' ? 'none' : 'limited'],
    ],
  };
}
