import { join, resolve } from 'node:path';
import type { Settings } from '#config';
import type { Log } from '#core';
import type { Runtime } from '#runtimes';
import type { Placement } from '#servers';
import { createTable } from '#store';

type Needs = {
  readonly docker: Pick<Runtime, 'probe'>;
  readonly folder: string;
  readonly log: Log;
};

/** Maximum time in ms that the start of the hub waits for the engine. */
const probeMs = 3_000;
/** File in the data folder that records whether servers ran on an engine. */
const placeFile = 'place.json';

/**
 * Finds the runtime of servers with `runtime: auto`. The runtime stays the same: if the engine stops answering, this
 * run and later runs of the hub wait for it, because the containers may still be running, and the data is in their
 * volumes.
 */
export async function findPlace(
  settings: Pick<Settings, 'dataDir' | 'inContainer'>,
  { docker, folder, log }: Needs,
): Promise<Placement & { readonly engine: string }> {
  const dataDir = resolve(settings.dataDir);
  const file = join(resolve(folder), placeFile);
  const kept = createTable({ file, maxEntries: 1 }, { log });
  const { healthy, detail: engine } = await docker.probe(AbortSignal.timeout(probeMs));
  if (healthy || settings.inContainer) {
    if (healthy) await kept.put('auto', 'docker');
    log.info({ engine }, 'servers run in containers');
    return { auto: 'docker', dataDir, engine };
  }
  if ((await kept.find('auto')) === 'docker') {
    log.warn(
      { engine },
      `NO DOCKER ENGINE ANSWERS: servers ran in containers before, and wait for it. To have them run as processes of this machine instead, without a sandbox and without the data in their volumes, remove ${file} and start the hub again`,
    );
    return { auto: 'docker', dataDir, engine };
  }
  log.warn(
    { engine },
    'NO DOCKER ENGINE ANSWERS: servers run as processes of this machine, with your rights and without a sandbox',
  );
  return { auto: 'process', dataDir, engine };
}
