import { type Log, messageOf } from '#core';
import type { Engine } from '../engine/engine.ts';

export type ReapNeeds = {
  readonly engine: Pick<
    Engine,
    'listContainers' | 'removeContainer' | 'listNetworks' | 'removeNetwork'
  >;
  readonly log: Log;
  /** True if this run of the hub is starting or running a container of this name. */
  readonly isHeld: (name: string) => boolean;
  /** True if this run of the hub is going to adopt the container. */
  readonly isAwaited: (id: string) => boolean;
};

/**
 * Removes leftover containers and networks with a label, such as those of a killed hub. Keeps those that are held or
 * awaited, and all volumes. Resolves with true if everything that remains is held. Rejects if the engine does not answer.
 */
export async function reap(label: string, needs: ReapNeeds): Promise<boolean> {
  const { engine, log, isHeld, isAwaited } = needs;
  const isKept = ({ id, name }: { readonly id: string; readonly name: string }) =>
    isHeld(name) || isAwaited(id);
  const found = await engine.listContainers(label);
  const kept = found.filter(isKept);
  const containers = found.filter(one => !kept.includes(one));
  /** A network has the same name as its container. */
  const names = new Set(kept.map(({ name }) => name));
  const areContainersGone = await Promise.all(
    containers.map(({ id, name }) =>
      attempt(log, { container: name }, 'removed a leftover container', () =>
        engine.removeContainer(id),
      ),
    ),
  );
  const networks = (await engine.listNetworks(label)).filter(
    ({ name }) => !names.has(name) && !isHeld(name),
  );
  const areNetworksGone = await Promise.all(
    networks.map(({ id, name }) =>
      attempt(log, { network: name }, 'removed a leftover network', () => engine.removeNetwork(id)),
    ),
  );
  const areHeld = kept.map(({ name }) => isHeld(name));
  return [...areContainersGone, ...areNetworksGone, ...areHeld].every(Boolean);
}

/** Resolves with true if the work succeeded. */
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
    log.warn({ ...fields, problem: messageOf(error) }, 'could not remove a leftover');
    return false;
  }
}
