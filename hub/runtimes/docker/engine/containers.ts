import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type Dockerode from 'dockerode';
import type { ContainerStats } from 'dockerode';
import type { Usage } from '#runtimes';
import { type CallBound, type EngineCalls, dial, wire } from './call.ts';

/** Time in ms that a stop may take in addition to the grace period. */
const killMs = 10_000;
/** Timeout for statistics in ms. Short, because users wait for them. */
const statsMs = 2_000;
const keepAliveMs = 30_000;
const nanosPerMs = 1_000_000;

export const containerCalls = ({ call, find, list, remove }: EngineCalls) => ({
  createContainer: (name: string, body: object) =>
    call(
      `create the container ${name}`,
      async (docker, signal) => (await docker.createContainer(wire(signal, { name }, body))).id,
    ),
  /** Resolves with one connection, for stdin and the multiplexed stdout and stderr. */
  attach: (id: string) =>
    call(`attach to the container ${id}`, (docker, signal) => hijack(docker, id, signal)),
  startContainer: (id: string, signal?: AbortSignal) =>
    call<void>(
      `start the container ${id}`,
      (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }),
      { signal },
    ),
  findContainer: (idOrName: string, bound?: CallBound) =>
    find(
      `container ${idOrName}`,
      async (docker, abortSignal) => {
        const info = await docker.getContainer(idOrName).inspect({ abortSignal });
        const { State: state, Config: config } = info;
        return {
          id: info.Id,
          name: info.Name.slice(1),
          image: config.Image,
          imageId: info.Image,
          labels: config.Labels ?? {},
          /** The entrypoint of the container and its arguments. */
          command: [config.Entrypoint ?? [], config.Cmd ?? []].flat(),
          state: {
            isRunning: state.Running,
            /** Start time in the engine's format. Changes with each start. */
            startedAt: state.StartedAt,
            exitCode: state.ExitCode,
            oomKilled: state.OOMKilled,
          },
        };
      },
      bound,
    ),
  /** Resolves when a container has exited, or at once if it does not run. */
  waitForContainer: (id: string, timeoutMs: number) => wait(call, id, 'not-running', timeoutMs),
  /** Resolves when a container is removed and its name is free. Rejects if it is removed already. */
  waitForRemoval: (id: string, timeoutMs: number) => wait(call, id, 'removed', timeoutMs),
  /** Sends SIGTERM, and SIGKILL after the grace period. Resolves when the container has exited. */
  stopContainer: (id: string, graceSeconds: number) =>
    call<void>(
      `stop the container ${id}`,
      (docker, signal) => docker.getContainer(id).stop(wire(signal, { t: graceSeconds })),
      { timeoutMs: graceSeconds * 1000 + killMs },
    ),
  /** Kills and removes a container with its anonymous volumes. Does nothing if the container is already removed. */
  removeContainer: (id: string) =>
    remove(`container ${id}`, (docker, signal) =>
      docker.getContainer(id).remove(wire(signal, { force: 1, v: 1 })),
    ),
  listContainers: (label: string) =>
    list('containers', label, async (docker, options) => {
      const found = await docker.listContainers({ all: true, ...options });
      return found.map(one => {
        const volumes = (one.Mounts ?? []).flatMap(({ Type, Name = '' }) =>
          Type === 'volume' ? [Name] : [],
        );
        return {
          id: one.Id,
          name: one.Names[0]?.slice(1) ?? '',
          labels: one.Labels,
          imageId: one.ImageID,
          isRunning: one.State === 'running',
          ...(volumes.length > 0 && { volumes }),
        };
      });
    }),
  /** Returns resource usage; undefined for a container that has just exited. */
  usage: (id: string) =>
    call(
      `read the statistics of the container ${id}`,
      async (docker, abortSignal) => {
        const options = { stream: false, 'one-shot': true, abortSignal } as const;
        return usageOf(await docker.getContainer(id).stats(options));
      },
      { timeoutMs: statsMs },
    ),
});

const wait = (
  call: EngineCalls['call'],
  id: string,
  condition: 'not-running' | 'removed',
  timeoutMs: number,
) =>
  call<void>(
    `wait for the container ${id}`,
    (docker, signal) => docker.getContainer(id).wait(wire(signal, { condition })),
    { timeoutMs },
  );

/**
 * Opens a raw connection to the standard streams of a container. Replaces `container.attach`, which repeats its options
 * in the request body: bytes that the engine or the broker leaves unread end up in the stdin of the container.
 */
async function hijack(docker: Dockerode, id: string, abortSignal: AbortSignal): Promise<Duplex> {
  const stream = await dial(docker, {
    path: `/containers/${id}/attach?`,
    method: 'POST',
    options: { stream: 1, stdin: 1, stdout: 1, stderr: 1 },
    file: Buffer.alloc(0),
    hijack: true,
    isStream: true,
    abortSignal,
    statusCodes: { 404: 'no such container', 409: 'conflict', 500: 'server error' },
  });
  if (stream instanceof Socket) stream.setNoDelay(true).setKeepAlive(true, keepAliveMs);
  if (stream instanceof Duplex) return stream;
  throw new Error('the engine did not open a raw connection');
}

/** Returns resource usage without reclaimable page cache. */
function usageOf(stats: ContainerStats): Usage | undefined {
  // Statistics of a container that has just exited are empty.
  if (stats.memory_stats?.usage === undefined) return undefined;
  const { usage, limit, stats: memory } = stats.memory_stats;
  // Page cache of cgroup v2 and v1, as in `docker stats`.
  const reclaimable = memory?.inactive_file ?? memory?.total_inactive_file ?? 0;
  return {
    memoryBytes: Math.max(0, usage - reclaimable),
    memoryLimitBytes: limit,
    pids: stats.pids_stats?.current ?? 0,
    pidsLimit: stats.pids_stats?.limit ?? 0,
    cpuMs: Math.round(stats.cpu_stats.cpu_usage.total_usage / nanosPerMs),
  };
}
