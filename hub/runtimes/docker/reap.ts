import { type Log, messageOf } from '#core';
import type { Engine } from './engine.ts';

export type ReapNeeds = {
  readonly engine: Pick<
    Engine,
    'listContainers' | 'removeContainer' | 'listNetworks' | 'removeNetwork'
  >;
  readonly log: Log;
  /** True for the name of a container that this run of the hub starts or runs. */
  readonly isHeld: (name: string) => boolean;
  /** True for the id of a container that it is about to take back. */
  readonly isAwaited: (id: string) => boolean;
};

/**
 * Removes the containers and networks with a label that nobody holds or awaits: what a hub that was killed, or
 * an engine that went away, has left behind. Volumes stay. Answers whether nothing is left but what is held.
 * Throws where the engine cannot be asked.
 */
export async function reap(label: string, needs: ReapNeeds): Promise<boolean> {
  const { engine, log, isHeld, isAwaited } = needs;
  const isKept = ({ id, name }: { readonly id: string; readonly name: string }) =>
    isHeld(name) || isAwaited(id);
  const found = await engine.listContainers(label);
  const kept = found.filter(isKept);
  const containers = found.filter(one => !kept.includes(one));
  /** Networks have the names of the containers on them. */
  const names = new Set(kept.map(({ name }) => name));
  const areContainersGone = await Promise.all(
    containers.map(({ id, name }) =>
      attempt(log, { container: name }, 'removed a container that was left behind', () =>
        engine.removeContainer(id),
      ),
    ),
  );
  const networks = (await engine.listNetworks(label)).filter(
    ({ name }) => !names.has(name) && !isHeld(name),
  );
  const areNetworksGone = await Promise.all(
    networks.map(({ id, name }) =>
      attempt(log, { network: name }, 'removed a network that was left behind', () =>
        engine.removeNetwork(id),
      ),
    ),
  );
  const areHeld = kept.map(({ name }) => isHeld(name));
  return [...areContainersGone, ...areNetworksGone, ...areHeld].every(Boolean);
}

/** One that cannot be removed is no reason to leave the others. */
async function attempt(
  log: Log,
  fields: object,
  done: string,
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work();
    log.info(fields, done);
    return true;
  } catch (error) {
    log.warn({ ...fields, problem: messageOf(error) }, 'could not remove what was left behind');
    return false;
  }
}
