import { type Clock, type Log, messageOf } from '#core';
import type { Engine } from '../engine/engine.ts';

/** The volumes of a container, and their size limit. */
export type Watched = {
  readonly names: readonly string[];
  readonly maxBytes: number;
  /** Called once, with the total size. Must not throw. */
  readonly exceeded: (bytes: number) => void;
};

type Needs = {
  readonly engine: Pick<Engine, 'volumeSizes'>;
  readonly clock: Clock;
  readonly log: Log;
};

/** The engine reads all volumes to measure them, so the pause is this many times as long as the measurement. */
const idleTimes = 20;

export type VolumeWatch = ReturnType<typeof createVolumeWatch>;

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
    /** Watches until the result is disposed. */
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
    /** Total size in bytes. Rejects with HubError. */
    measure: async (names: readonly string[]) => sum(await engine.volumeSizes(), names),
  };
}
