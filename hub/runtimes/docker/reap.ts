import { type Log, messageOf } from '#core';
import type { Engine } from './engine.ts';

type Needs = {
  readonly engine: Pick<
    Engine,
    'listContainers' | 'removeContainer' | 'listNetworks' | 'removeNetwork'
  >;
  readonly log: Log;
  /** True for a container that this run of the hub starts or runs, or is about to take back. */
  readonly isHeld: (container: { readonly id: string; readonly name: string }) => boolean;
};

/**
 * Removes the containers and networks with a label that nobody holds: what a hub that was killed, or
 * an engine that went away, has left behind. Volumes stay. Throws where the engine cannot be asked.
 */
export async function reap(label: string, { engine, log, isHeld }: Needs): Promise<void> {
  const found = await engine.listContainers(label);
  const containers = found.filter(one => !isHeld(one));
  /** Networks have the names of the containers on them. */
  const kept = new Set(found.filter(isHeld).map(({ name }) => name));
  await Promise.all(
    containers.map(({ id, name }) =>
      attempt(log, { container: name }, 'removed a container that was left behind', () =>
        engine.removeContainer(id),
      ),
    ),
  );
  const networks = (await engine.listNetworks(label)).filter(
    ({ id, name }) => !kept.has(name) && !isHeld({ id, name }),
  );
  await Promise.all(
    networks.map(({ id, name }) =>
      attempt(log, { network: name }, 'removed a network that was left behind', () =>
        engine.removeNetwork(id),
      ),
    ),
  );
}

/** One that cannot be removed is no reason to leave the others. */
async function attempt(
  log: Log,
  fields: object,
  done: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
    log.info(fields, done);
  } catch (error) {
    log.warn({ ...fields, problem: messageOf(error) }, 'could not remove what was left behind');
  }
}
