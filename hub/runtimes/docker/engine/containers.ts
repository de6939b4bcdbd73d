import type { ContainerInspectInfo } from 'dockerode';
import { type Call, labelFilter, unlessAbsent, unlessGone, wire } from './call.ts';
import type { ContainerInfo, Engine } from './engine.ts';
import { hijack } from './hijack.ts';

/** Time in ms that a stop may take in addition to the grace period. */
const killMs = 10_000;
const statsMs = 2_000;

type Names =
  | 'createContainer'
  | 'attach'
  | 'startContainer'
  | 'findContainer'
  | 'waitForContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'listContainers'
  | 'stats';

export const containerCalls = (call: Call): Pick<Engine, Names> => ({
  createContainer: (name, body) =>
    call(`create the container ${name}`, async (docker, signal) => {
      const container = await docker.createContainer(wire(signal, { name }, body));
      return container.id;
    }),
  attach: id =>
    call(`attach to the container ${id}`, (docker, signal) => hijack(docker, id, signal)),
  startContainer: (id, signal) =>
    call(
      `start the container ${id}`,
      async (docker, abortSignal) => {
        await docker.getContainer(id).start({ abortSignal });
      },
      { signal },
    ),
  findContainer: (idOrName, bound) =>
    unlessAbsent(
      call(
        `inspect the container ${idOrName}`,
        async (docker, abortSignal) =>
          containerInfo(await docker.getContainer(idOrName).inspect({ abortSignal })),
        bound,
      ),
    ),
  waitForContainer: (id, timeoutMs) =>
    call(
      `wait for the container ${id}`,
      async (docker, signal) => {
        await docker.getContainer(id).wait(wire(signal, { condition: 'not-running' }));
      },
      { timeoutMs },
    ),
  stopContainer: (id, graceSeconds) =>
    call(
      `stop the container ${id}`,
      async (docker, signal) => {
        await docker.getContainer(id).stop(wire(signal, { t: graceSeconds }));
      },
      { timeoutMs: graceSeconds * 1000 + killMs },
    ),
  removeContainer: id =>
    unlessGone(
      call(`remove the container ${id}`, async (docker, signal) => {
        await docker.getContainer(id).remove(wire(signal, { force: 1, v: 1 }));
      }),
    ),
  listContainers: label =>
    call('list containers', async (docker, abortSignal) => {
      const filters = labelFilter(label);
      const found = await docker.listContainers({ all: true, filters, abortSignal });
      return found.map(one => ({
        id: one.Id,
        name: one.Names[0]?.slice(1) ?? '',
        labels: one.Labels,
        isRunning: one.State === 'running',
      }));
    }),
  stats: id =>
    call(
      `read the statistics of the container ${id}`,
      (docker, abortSignal) => {
        const options = { stream: false, 'one-shot': true, abortSignal } as const;
        return docker.getContainer(id).stats(options);
      },
      { timeoutMs: statsMs },
    ),
});

function containerInfo(info: ContainerInspectInfo): ContainerInfo {
  return {
    id: info.Id,
    name: info.Name.slice(1),
    image: info.Config.Image,
    imageId: info.Image,
    labels: info.Config.Labels ?? {},
    state: {
      isRunning: info.State.Running,
      startedAt: info.State.StartedAt,
      exitCode: info.State.ExitCode,
      oomKilled: info.State.OOMKilled,
    },
  };
}
