import { HubError } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import { type Owner, volumeName } from '../container/options.ts';
import type { VolumeWatch } from './watch.ts';

type Bounded = Pick<DockerTarget, 'volumes' | 'limits'>;

/** Enforces the size limit of the volumes of servers. */
export type VolumeBound = {
  /**
   * Rejects with HUB_VOLUMES_FULL if the server was stopped because of its volumes and they are still too large. Measures
   * the volumes only for such a server.
   */
  check(spec: Pick<LaunchSpec, 'server'>, target: Bounded): Promise<void>;
  /** Watches the volumes of a running container. */
  watch(
    spec: Pick<LaunchSpec, 'server'>,
    target: Bounded,
    exceeded: (why: HubError) => void,
  ): Disposable;
};

export function createVolumeBound(
  owner: Pick<Owner, 'hubName'>,
  { watch, measure }: VolumeWatch,
): VolumeBound {
  /** Servers that were stopped because of their volumes in this run of the hub. */
  const ended = new Set<string>();
  const namesOf = ({ volumes }: Bounded) => volumes.map(volume => volumeName(owner, volume));

  function full(server: string, { volumes, limits }: Bounded, bytes: number): HubError {
    const names = namesOf({ volumes, limits }).join(', ');
    return new HubError(
      'HUB_VOLUMES_FULL',
      `${server}: its volumes hold ${mebibytes(bytes)}, more than the ${mebibytes(limits.volumeBytes)} of "resources.volumes". Delete files from ${names}, or raise the limit, and start ${server} again`,
      { data: { server, retryable: false } },
    );
  }

  return {
    async check({ server }, target) {
      if (!ended.has(server)) return;
      const bytes = await measure(namesOf(target));
      if (bytes > target.limits.volumeBytes) throw full(server, target, bytes);
      ended.delete(server);
    },
    watch: ({ server }, target, exceeded) =>
      watch({
        names: namesOf(target),
        maxBytes: target.limits.volumeBytes,
        exceeded(bytes) {
          ended.add(server);
          exceeded(full(server, target, bytes));
        },
      }),
  };
}

const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;
