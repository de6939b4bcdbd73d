import { type Clock, messageOf } from '#core';
import { parseAddress } from '../engine/address.ts';
import { createEngine } from '../engine/engine.ts';
import { isRefusal } from '../engine/errors.ts';
import { findIgnoredLimits } from '../engine/limits.ts';
import { hubLabel, managedLabel, nameLabel, serverLabel } from '../container/labels.ts';

/**
 * Lists and removes the objects of all hubs on an engine, whether the hubs are running or not. `dockerHost`: in the
 * format of DOCKER_HOST; undefined: the default of the platform. Throws HUB_LAUNCH_INVALID. All functions reject with
 * HUB_ENGINE_UNREACHABLE.
 */
export function createSurveyor(dockerHost: string | undefined, needs: { readonly clock: Clock }) {
  const engine = createEngine(parseAddress(dockerHost), needs.clock);
  const label = `${managedLabel}=true`;

  /** Returns the objects of each hub. `hubId` is empty for objects without the label of a hub. */
  async function holdings() {
    const containers = await engine.listContainers(label);
    const networks = await engine.listNetworks(label);
    const volumes = await engine.listVolumes(label).catch(noneIfRefused);
    const hubOf = ({ labels }: { readonly labels: Readonly<Record<string, string>> }) =>
      labels[hubLabel] ?? '';
    const hubs = new Set([...containers, ...networks, ...volumes].map(hubOf));
    return [...hubs].toSorted().map(hubId => ({
      hubId,
      containers: containers
        .filter(one => hubOf(one) === hubId)
        .map(one => ({ ...one, server: one.labels[serverLabel] ?? '' })),
      networks: networks.filter(one => hubOf(one) === hubId),
      volumes: volumes
        .filter(one => hubOf(one) === hubId)
        .map(one => ({ ...one, hubName: one.labels[nameLabel] })),
    }));
  }

  /** Runs a task for all objects concurrently. Resolves with a message for each failure. */
  async function forEach<T extends { readonly name: string }>(
    those: readonly T[],
    work: (one: T) => Promise<void>,
  ): Promise<readonly string[]> {
    const left = those.map(one =>
      work(one).then(
        () => [],
        (error: unknown) => [`${one.name}: ${messageOf(error)}`],
      ),
    );
    return (await Promise.all(left)).flat();
  }

  const findHolding = async (hubId: string) => (await holdings()).find(one => one.hubId === hubId);

  return {
    holdings,
    /** Returns a sentence about limits that the engine ignores; undefined if it keeps all. Rejects with HubError. */
    ignoredLimits: () => findIgnoredLimits(engine),
    /** Returns the version and address of the engine. */
    async engine() {
      const { version } = await engine.version();
      return `Docker Engine ${version} at ${engine.address}`;
    },
    /** Returns the ids of hubs that run in a container of a compose project, as docker-compose.yml names them. */
    async composeHubs(): Promise<readonly string[]> {
      const hubs = await engine
        .listContainers('com.docker.compose.service=hub')
        .catch(noneIfRefused);
      return hubs.flatMap(({ isRunning, labels }) => {
        const project = labels['com.docker.compose.project'];
        return isRunning && project !== undefined ? [`compose-${project}`] : [];
      });
    },
    /** Removes the containers and networks of a hub, but not its volumes. Resolves with a message for each failure. */
    async remove(hubId: string): Promise<readonly string[]> {
      const { containers = [], networks = [] } = (await findHolding(hubId)) ?? {};
      return [
        ...(await forEach(containers, ({ id }) => engine.removeContainer(id))),
        // Networks last: the engine refuses to remove a network while a container is in it.
        ...(await forEach(networks, ({ id }) => engine.removeNetwork(id))),
      ];
    },
    /** Removes volumes of a hub with their content. Resolves with a message for each failure. */
    async removeVolumes(hubId: string, names: readonly string[]): Promise<readonly string[]> {
      const { volumes = [] } = (await findHolding(hubId)) ?? {};
      const wanted = volumes.filter(({ name }) => names.includes(name));
      return await forEach(wanted, ({ name }) => engine.removeVolume(name));
    },
  };
}

/** Returns an empty list if the broker refuses to list, as it does for a hub that runs in a container of compose. */
function noneIfRefused(error: unknown): readonly [] {
  if (isRefusal(error, 403)) return [];
  throw error;
}
