import { waitAtMost } from '#core';
import type { Clock } from '#core';
import type { ContainerUsage, ContainerUsages } from '#dashboard';
import type { Running } from '#servers';

type Measured = {
  readonly config: { readonly name: string };
  readonly running: { readonly instance: Pick<Running['instance'], 'usage'> } | undefined;
};

/** Lifetime of a result in ms. The engine takes long for each container. */
const freshMs = 5_000;
const maxWaitMs = 2_000;

/** Reads the usage of all containers from the engine. */
export function createContainerUsages(
  servers: () => readonly Measured[],
  clock: Pick<Clock, 'monotonic' | 'after'>,
): ContainerUsages {
  let kept: Promise<ReadonlyMap<string, ContainerUsage>> | undefined;
  let since = 0;

  async function ask(): Promise<ReadonlyMap<string, ContainerUsage>> {
    const found = new Map<string, ContainerUsage>();
    const asked = servers().map(async ({ config: { name }, running }) => {
      const usage = await running?.instance.usage().catch(() => undefined); // Shown without figures.
      if (!usage) return;
      const memoryBytes = usage.memoryBytes + (found.get(name)?.memoryBytes ?? 0);
      found.set(name, { memoryBytes, cpuMs: usage.cpuMs + (found.get(name)?.cpuMs ?? 0) });
    });
    await waitAtMost(maxWaitMs, Promise.all(asked), clock);
    return new Map(found);
  }

  return {
    read() {
      const now = clock.monotonic();
      if (kept && now - since < freshMs) return kept;
      since = now;
      return (kept = ask());
    },
  };
}
