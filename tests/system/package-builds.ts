import { createInterface } from 'node:readline';
import type { PackageSpec } from '#config';
import { docker } from '../runtimes/docker/hub.ts';

/** Removes the images of a package, which no other test uses. */
export async function forget(source: PackageSpec): Promise<void> {
  const filters = JSON.stringify({ label: [`io.agenthub.package=${source.spec}`] });
  for (const image of await docker.listImages({ filters }))
    await docker.getImage(image.Id).remove({ force: true });
}

/** Inspects a container. Resolves with undefined if it has just been removed. */
const inspect = async (id: string) =>
  await docker
    .getContainer(id)
    .inspect()
    .catch(() => undefined);

/** Returns the ids of containers in which the engine runs build steps of a package. */
export async function buildersOf(source: PackageSpec): Promise<readonly string[]> {
  const builders: string[] = [];
  for (const { Id } of await docker.listContainers({ all: true }))
    if ((await inspect(Id))?.Config.Env.includes(`PACKAGE=${source.spec}`)) builders.push(Id);
  return builders;
}

/**
 * Watches the engine until disposed. `steps()` resolves with the containers that were started for the build of a
 * package: their limits, and the id of the hub that owns their network. Follows the engine's events, as polling would
 * inspect every container repeatedly during the build.
 */
export async function watchBuild(source: PackageSpec) {
  const over = new AbortController();
  const events = await docker.getEvents({
    filters: { type: ['container'], event: ['start'] },
    abortSignal: over.signal,
  });
  const found: ReturnType<typeof stepIn>[] = [];
  async function stepIn(id: string) {
    const container = await inspect(id);
    if (!container?.Config.Env.includes(`PACKAGE=${source.spec}`)) return [];
    const { Memory, MemorySwap, CpuQuota, CpuPeriod, NetworkMode } = container.HostConfig;
    const { Labels } = await docker.getNetwork(String(NetworkMode)).inspect();
    return [
      {
        bounds: { Memory, MemorySwap, CpuQuota, CpuPeriod },
        networkOf: Labels?.['io.agenthub.hub'],
      },
    ];
  }
  const lines = createInterface({ input: events });
  lines.on('line', line => found.push(stepIn(JSON.parse(line).Actor.ID)));
  lines.on('error', () => {}); // The stream reports that it was aborted.
  return {
    steps: async () => (await Promise.all(found)).flat(),
    [Symbol.dispose]: () => over.abort(),
  };
}
