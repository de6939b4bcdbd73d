import { HubError } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import type { ContainerOwner } from '../container/labels.ts';
import { volumeName } from '../container/options.ts';
import type { VolumeWatch } from './watch.ts';

type Bounded = Pick<DockerTarget, 'volumes' | 'limits'>;

type Launched = Pick<LaunchSpec, 'server'>;

export type VolumeBound = ReturnType<typeof createVolumeBound>;

/** Enforces the size limit of the volumes of servers. */
export function createVolumeBound(
  owner: Pick<ContainerOwner, 'hubName'>,
  { watch, measure }: VolumeWatch,
) {
  /** Servers that were stopped because of their volumes in this run of the hub. */
  const ended = new Set<string>();
  const namesOf = ({ volumes }: Bounded) => volumes.map(volume => volumeName(owner, volume));

  function full(server: string, target: Bounded, bytes: number): HubError {
    const names = namesOf(target).join(', ');
    return new HubError(
      'HUB_VOLUMES_FULL',
      `${server}: its volumes hold ${mebibytes(bytes)}, more than the ${mebibytes(target.limits.volumeBytes)} of "resources.volumes". Delete files from ${names}, or raise the limit, and start ${server} again`,
      { data: { server, retryable: false } },
    );
  }

  return {
    /**
     * Rejects with HUB_VOLUMES_FULL if the server was stopped because of its volumes and they are still too large.
     * Measures the volumes only for such a server.
     */
    async check({ server }: Launched, target: Bounded): Promise<void> {
      if (!ended.has(server)) return;
      const bytes = await measure(namesOf(target));
      if (bytes > target.limits.volumeBytes) throw full(server, target, bytes);
      ended.delete(server);
    },
    /** Watches the volumes of a running container. */
    watch: ({ server }: Launched, target: Bounded, exceeded: (why: HubError) => void) =>
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
