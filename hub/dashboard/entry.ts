import type { LocalLaunch, RemoteLaunch, ServerConfig } from '#config';
import type { Json, JsonObject } from '#core';

/** Keys that no page shows, because their values may be secrets. */
const hidden = '[redacted]';
const hideAll = (values: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(Object.keys(values).map(name => [name, hidden]));

/** The config of a server in the format of the config file, with all defaults, without values of environment and headers. */
export function entryOf(config: ServerConfig): JsonObject {
  const { launch } = config;
  const entry: { readonly [key: string]: Json | undefined } = {
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
  };
  return Object.fromEntries(
    Object.entries(entry).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

const remoteEntry = ({ transport, url, headers }: RemoteLaunch) => ({
  transport,
  url: addressOf(url),
  headers: hideAll(headers),
});

function localEntry({ package: wanted, sandbox, ...launch }: LocalLaunch) {
  const { limits } = sandbox;
  return {
    runtime: launch.runtime,
    package: wanted && `${wanted.ecosystem === 'pypi' ? 'uvx:' : ''}${wanted.spec}`,
    image: launch.image,
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

/** A URL without user, password and query, which may contain secrets. */
export function addressOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
