import type { Clock } from '#core';
import type { UsageView } from '#dashboard';
import type { Server } from '#servers';
import type { ContainerUsage, ContainerUsages } from '../container-usage.ts';

/** Cached resource usage of containers. */
export interface UsageViews {
  readonly of: (server: Server) => UsageView | undefined;
  /** Refreshes the cache in the background. Resolves when the engine has answered, or after a timeout. */
  look(): Promise<void>;
}

type Looked = { readonly atMs: number; readonly usages: ReadonlyMap<string, ContainerUsage> };

/** Maximum time in ms that a page waits for the engine. */
const waitMs = 50;

/** `changed` is called after each change of the cache. */
export function createUsageViews(
  needs: { readonly usages: ContainerUsages; readonly clock: Clock },
  changed: () => void,
): UsageViews {
  const { usages, clock } = needs;
  let before: Looked | undefined;
  let last: Looked | undefined;

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
    of({ config, running }) {
      const usage = last?.usages.get(config.name);
      if (!usage || !running) return undefined;
      const { launch } = config;
      return {
        memoryBytes: usage.memoryBytes,
        memoryLimitBytes: launch.kind === 'local' ? launch.sandbox.limits.memoryBytes : 0,
        cpuShare: cpuShareOf(config.name, usage),
      };
    },
    async look() {
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = clock.after(waitMs, resolve);
      await Promise.race([ask(), promise]);
    },
  };
}
