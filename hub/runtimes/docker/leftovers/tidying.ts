import { type Clock, type Log, messageOf, sleep } from '#core';
import { instanceLabel, serverLabel } from '../container/labels.ts';
import type { Egress } from '../egress/egress.ts';
import type { Engine } from '../engine/engine.ts';
import type { ImageVolumes } from '../volumes/declared.ts';

type Needs = {
  readonly engine: Pick<Engine, 'listContainers' | 'removeContainer' | 'listNetworks'>;
  readonly egress: Pick<Egress, 'isForwarder' | 'isNeeded' | 'isAdopting' | 'discardNetwork'>;
  readonly imageVolumes: Pick<ImageVolumes, 'isLook' | 'discardLook'>;
  readonly clock: Clock;
  readonly log: Log;
  /** True if this run of the hub is starting or running a container of this name. */
  readonly isHeld: (name: string) => boolean;
  /** True if this run of the hub is going to adopt the container. */
  readonly isAwaited: (id: string) => boolean;
};

type Leftover = { readonly id: string; readonly name: string };

/** Result of a cleanup. `left`: some leftovers remain. `unheard`: the engine did not answer. */
export type Tidied = 'clear' | 'left' | 'unheard';

const firstRetryMs = 500;
/**
 * Maximum retry interval in ms, by the last result. Leftovers that the engine refuses to remove, or that may be
 * adopted, are not urgent.
 */
const lastRetryMs = { unheard: 5_000, clear: 5_000, left: 30_000 };
/**
 * Number of consecutive clear results after which the cleanup stops: a slow engine may still execute an earlier call.
 */
const looksWhenClear = 2;

export type Tidying = ReturnType<typeof createTidying>;

/** Removes leftover containers and networks with a label, for example of a killed hub. Volumes with content stay. */
export function createTidying(label: string, needs: Needs) {
  const { engine, egress, imageVolumes, clock, log, isHeld, isAwaited } = needs;
  const stopping = new AbortController();
  let isGoing = false;
  let last: Tidied = 'clear';
  let retryMs = firstRetryMs;
  let clearLooks = 0;

  async function settle(): Promise<void> {
    isGoing = true;
    while (clearLooks < looksWhenClear) {
      await sleep(retryMs, { clock, signal: stopping.signal });
      if (stopping.signal.aborted) return;
      const found = await now();
      clearLooks = found === 'clear' ? clearLooks + 1 : 0;
      retryMs = Math.min(retryMs * 2, lastRetryMs[found]);
    }
    isGoing = false;
  }

  /** Runs one cleanup. Never rejects. */
  async function now(): Promise<Tidied> {
    try {
      last = (await reap()) ? 'clear' : 'left';
    } catch (error) {
      log.debug({ problem: messageOf(error) }, 'could not look for leftovers');
      last = 'unheard';
    }
    return last;
  }

  /**
   * Removes leftovers. Resolves with true if all remaining objects are in use by this run. Rejects if the engine does
   * not answer.
   */
  async function reap(): Promise<boolean> {
    const found = await engine.listContainers(label);
    const servers = found.filter(({ id, name }) => isHeld(name) || isAwaited(id));
    // Servers that are being adopted, or will be, may have open connections through the forwarder.
    const needsForwarder = () =>
      egress.isNeeded() || egress.isAdopting() || servers.some(({ name }) => !isHeld(name));
    const forwarder = needsForwarder() ? found.filter(({ name }) => egress.isForwarder(name)) : [];
    const kept = [...servers, ...forwarder];
    const containers = found.filter(one => !kept.includes(one));
    const areContainersGone = await removeAll('container', containers, one =>
      imageVolumes.isLook(one) ? imageVolumes.discardLook(one) : engine.removeContainer(one.id),
    );
    const listed = await engine.listNetworks(label);
    // The forwarder's network is recognized by its name, a server's network by its labels.
    const owners = new Set(servers.map(({ labels }) => ownerOf(labels)));
    // Evaluated again, as a server that started meanwhile may have created a forwarder.
    const isForwarderKept = forwarder.length > 0 || needsForwarder();
    const networks = listed.filter(
      ({ name, labels }) =>
        !(isForwarderKept && egress.isForwarder(name)) &&
        !owners.has(ownerOf(labels)) &&
        !isHeld(name),
    );
    const areNetworksGone = await removeAll('network', networks, egress.discardNetwork);
    const areHeld = kept.map(({ name }) => isHeld(name) || egress.isNeeded());
    return [...areContainersGone, ...areNetworksGone, ...areHeld].every(Boolean);
  }

  /** Removes objects. Resolves with true for each object that was removed. */
  const removeAll = <T extends Leftover>(
    kind: 'container' | 'network',
    those: readonly T[],
    remove: (leftover: T) => Promise<void>,
  ) =>
    Promise.all(
      those.map(async one => {
        const { name } = one;
        try {
          await remove(one);
          log.info({ [kind]: name }, `removed a leftover ${kind}`);
          return true;
        } catch (error) {
          log.warn({ [kind]: name, problem: messageOf(error) }, 'could not remove a leftover');
          return false;
        }
      }),
    );

  return {
    now,
    /** Repeats the cleanup until no leftovers remain, or until `stop`. */
    owe() {
      clearLooks = 0;
      retryMs = firstRetryMs;
      if (!isGoing) void settle();
    },
    /** Stops the retries. Cleans up once more if leftovers were kept for servers that were to be adopted. */
    async stop() {
      stopping.abort();
      if (last === 'left') await now();
    },
  };
}

/** Returns the server, with its instance, that an object was created for. */
const ownerOf = (labels: Readonly<Record<string, string>>): string =>
  `${labels[serverLabel]}.${labels[instanceLabel] ?? ''}`;

/** Maximum time in ms until the engine has removed the container of an aborted build. */
const endMs = 10_000;
const networkRetryMs = 100;

/** Removes the network of a build. Retries while the container of an aborted build, which ends late, is still in it. */
export async function removeBuildNetwork(
  name: string,
  { engine, clock }: { readonly engine: Pick<Engine, 'removeNetwork'>; readonly clock: Clock },
): Promise<void> {
  const deadlineMs = clock.monotonic() + endMs;
  for (;;) {
    try {
      return await engine.removeNetwork(name);
    } catch (error) {
      const isInUse = /active endpoints/.test(messageOf(error));
      if (!isInUse || clock.monotonic() >= deadlineMs) throw error;
    }
    await sleep(networkRetryMs, { clock });
  }
}
