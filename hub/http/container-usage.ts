import type { Clock } from '#core';
import type { Running } from '#servers';

/** What the containers of a server use together. */
export type ContainerUsage = { readonly memoryBytes: number; readonly cpuMs: number };

/** A server, or an instance that a session has of it, as far as it is looked at here. */
export type Measured = {
  readonly config: { readonly name: string };
  readonly running: { readonly instance: Pick<Running['instance'], 'usage'> } | undefined;
};

/** Asks the engine what the containers of all servers use. */
export interface ContainerUsages {
  /** By server; those that nobody can tell of are not in it. Rejects never, and takes two seconds at the most. */
  read(): Promise<ReadonlyMap<string, ContainerUsage>>;
}

/** How long an answer is given again, in milliseconds: the engine takes its time over each container. */
const freshMs = 5_000;
const maxWaitMs = 2_000;

export function createContainerUsages(
  servers: () => readonly Measured[],
  clock: Pick<Clock, 'monotonic' | 'after'>,
): ContainerUsages {
  let kept: Promise<ReadonlyMap<string, ContainerUsage>> | undefined;
  let since = 0;

  /** What has answered when the time is over counts. */
  async function ask(): Promise<ReadonlyMap<string, ContainerUsage>> {
    const found = new Map<string, ContainerUsage>();
    const asked = servers().map(server => add(server, found));
    const { promise, resolve } = Promise.withResolvers<void>();
    using _ = clock.after(maxWaitMs, resolve);
    await Promise.race([Promise.all(asked), promise]);
    return new Map(found);
  }

  return {
    read() {
      const now = clock.monotonic();
      if (!kept || now - since >= freshMs) {
        since = now;
        kept = ask();
      }
      return kept;
    },
  };
}

async function add(
  { config, running }: Measured,
  found: Map<string, ContainerUsage>,
): Promise<void> {
  const usage = await running?.instance.usage().catch(() => undefined);
  if (!usage) return;
  const others = found.get(config.name) ?? { memoryBytes: 0, cpuMs: 0 };
  found.set(config.name, {
    memoryBytes: others.memoryBytes + usage.memoryBytes,
    cpuMs: others.cpuMs + usage.cpuMs,
  });
}
