import type { Clock } from '#core';
import type { Usage } from '#runtimes';
import type { Server } from '#servers';

/** Memory and processor time of all containers of a server. */
export type ContainerUsage = Pick<Usage, 'memoryBytes' | 'cpuMs'>;

/** Reads the usage of all containers from the engine. */
export interface ContainerUsages {
  /** Usage by server, without servers of unknown usage. Takes two seconds at most and never rejects. */
  read(): Promise<ReadonlyMap<string, ContainerUsage>>;
}

export type UsageViews = ReturnType<typeof createUsageViews>;

type Sample = { readonly atMs: number; readonly usages: ReadonlyMap<string, ContainerUsage> };

/** Maximum time in ms that a page waits for the engine. */
const waitMs = 50;

/** `changed` is called after each change of the cache. */
export function createUsageViews(
  { usages, clock }: { readonly usages: ContainerUsages; readonly clock: Clock },
  changed: () => void,
) {
  let before: Sample | undefined;
  let last: Sample | undefined;

  async function ask(): Promise<void> {
    const found = await usages.read();
    // The same object: no change.
    if (found === last?.usages) return;
    [before, last] = [last, { atMs: clock.monotonic(), usages: found }];
    if (found.size > 0) changed();
  }

  /** Average between the last two samples. Undefined if the container was restarted in between. */
  function cpuShareOf(name: string, now: ContainerUsage): number | undefined {
    const then = before?.usages.get(name);
    if (!before || !last || !then || now.cpuMs < then.cpuMs) return undefined;
    return (now.cpuMs - then.cpuMs) / Math.max(1, last.atMs - before.atMs);
  }

  return {
    /** `cpuShare` is a fraction of one CPU core. Undefined if the usage is not known. */
    of({ config: { name, launch }, running }: Server) {
      const usage = last?.usages.get(name);
      if (!usage || !running) return undefined;
      return {
        memoryBytes: usage.memoryBytes,
        memoryLimitBytes: launch.kind === 'local' ? launch.sandbox.limits.memoryBytes : 0,
        cpuShare: cpuShareOf(name, usage),
      };
    },
    /** Refreshes the cache in the background. Resolves when the engine has answered, or after a timeout. */
    async look(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = clock.after(waitMs, resolve);
      await Promise.race([ask(), promise]);
    },
  };
}
