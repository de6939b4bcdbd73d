import { type Clock, type Log, HubError, messageOf } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import type { ContainerOwner } from '../container/labels.ts';
import { volumeName } from '../container/options.ts';
import type { Engine } from '../engine/engine.ts';

/** The volumes of a container, and the limit of their total size. */
export type Watched = {
  readonly names: readonly string[];
  readonly maxBytes: number;
  /** Called once, with the total size in bytes. Must not throw. */
  readonly exceeded: (bytes: number) => void;
};

type Needs = {
  readonly engine: Pick<Engine, 'volumeSizes'>;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * Minimum pause between measurements, as a multiple of the last one's duration: the engine reads all volumes to measure
 * them.
 */
const idleTimes = 20;

/** Measures volumes while at least one container is watched. All containers share a measurement. */
export function createVolumeWatch(everyMs: number, { engine, clock, log }: Needs) {
  const all = new Set<Watched>();
  let next: Disposable | undefined;
  let isLooking = false;

  const sum = (sizes: ReadonlyMap<string, number>, names: readonly string[]) =>
    names.reduce((total, name) => total + (sizes.get(name) ?? 0), 0);

  async function look(): Promise<void> {
    const since = clock.monotonic();
    isLooking = true;
    next = undefined;
    try {
      const sizes = await engine.volumeSizes();
      for (const watched of all) {
        const bytes = sum(sizes, watched.names);
        if (bytes <= watched.maxBytes) continue;
        all.delete(watched);
        watched.exceeded(bytes);
      }
    } catch (error) {
      log.debug({ problem: messageOf(error) }, 'could not measure volumes');
    }
    const tookMs = clock.monotonic() - since;
    isLooking = false;
    plan(Math.max(everyMs, idleTimes * tookMs));
  }

  function plan(delayMs: number): void {
    if (next || isLooking || all.size === 0) return;
    next = clock.after(delayMs, () => void look());
  }

  return {
    watch: (watched: Watched): Disposable => {
      all.add(watched);
      plan(everyMs);
      return {
        [Symbol.dispose]() {
          all.delete(watched);
          if (all.size > 0) return;
          next?.[Symbol.dispose]();
          next = undefined;
        },
      };
    },
    measure: async (names: readonly string[]) => sum(await engine.volumeSizes(), names),
  };
}

type Bounded = Pick<DockerTarget, 'volumes' | 'limits'>;
type Launched = Pick<LaunchSpec, 'server'>;

export type VolumeBound = ReturnType<typeof createVolumeBound>;

/** Enforces the size limit of the volumes of servers. */
export function createVolumeBound(
  owner: Pick<ContainerOwner, 'hubName'>,
  { watch, measure }: ReturnType<typeof createVolumeWatch>,
) {
  /** Names of servers that were stopped because of their volumes in this run of the hub. */
  const ended = new Set<string>();
  const namesOf = ({ volumes }: Bounded) => volumes.map(volume => volumeName(owner, volume));

  function full(server: string, target: Bounded, bytes: number): HubError {
    const names = namesOf(target).join(', ');
    const limit = `the ${mebibytes(target.limits.volumeBytes)} of "resources.volumes"`;
    const remedy = `Delete files from ${names}, or raise the limit, and start ${server} again`;
    const problem = `${server}: its volumes hold ${mebibytes(bytes)}, more than ${limit}. ${remedy}`;
    return new HubError('HUB_VOLUMES_FULL', problem, { data: { server, retryable: false } });
  }

  return {
    /** Rejects with HUB_VOLUMES_FULL if the volumes for which the server was stopped are still too large. */
    async check({ server }: Launched, target: Bounded): Promise<void> {
      if (!ended.has(server)) return;
      const bytes = await measure(namesOf(target));
      if (bytes > target.limits.volumeBytes) throw full(server, target, bytes);
      ended.delete(server);
    },
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
