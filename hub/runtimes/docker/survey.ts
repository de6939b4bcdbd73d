import { type Clock, messageOf } from '#core';
import { parseAddress } from './address.ts';
import { createEngine } from './client.ts';
import { isRefusal } from './engine-error.ts';
import { hubLabel, managedLabel, serverLabel } from './labels.ts';

/** What one hub has on an engine. */
export type Holding = {
  /** Empty for what tells of no hub. */
  readonly hubId: string;
  readonly containers: readonly {
    readonly id: string;
    readonly name: string;
    readonly server: string;
    readonly isRunning: boolean;
  }[];
  readonly networks: readonly { readonly id: string; readonly name: string }[];
  /** None where the broker stands before the engine, which does not tell. */
  readonly volumes: readonly { readonly name: string }[];
};

/** Looks at what all hubs have on an engine, whether they still run or not. */
export interface Surveyor {
  /** The engine's version and address. Rejects with HUB_ENGINE_UNREACHABLE. */
  engine(): Promise<string>;
  /** By hub. Rejects with HUB_ENGINE_UNREACHABLE. */
  holdings(): Promise<readonly Holding[]>;
  /**
   * Removes the containers and networks of a hub, volumes not. Answers with what could not be removed, as
   * sentences. Rejects with HUB_ENGINE_UNREACHABLE.
   */
  remove(hubId: string): Promise<readonly string[]>;
  /** Removes these volumes of a hub, with all that is in them. Answers and rejects as `remove` does. */
  removeVolumes(hubId: string, names: readonly string[]): Promise<readonly string[]>;
}

/** `dockerHost` as in DOCKER_HOST; undefined for the platform's default. Throws HUB_LAUNCH_INVALID. */
export function createSurveyor(
  dockerHost: string | undefined,
  needs: { readonly clock: Clock },
): Surveyor {
  const engine = createEngine(parseAddress(dockerHost), needs.clock);
  const label = `${managedLabel}=true`;

  async function holdings(): Promise<readonly Holding[]> {
    const containers = await engine.listContainers(label);
    const networks = await engine.listNetworks(label);
    const volumes = await engine.listVolumes(label).catch((error: unknown) => {
      if (isRefusal(error, 403)) return [];
      throw error;
    });
    const hubOf = ({ labels }: { readonly labels: Readonly<Record<string, string>> }) =>
      labels[hubLabel] ?? '';
    const hubs = new Set([...containers, ...networks, ...volumes].map(hubOf));
    return [...hubs].toSorted().map(hubId => ({
      hubId,
      containers: containers
        .filter(one => hubOf(one) === hubId)
        .map(one => ({ ...one, server: one.labels[serverLabel] ?? '' })),
      networks: networks.filter(one => hubOf(one) === hubId),
      volumes: volumes.filter(one => hubOf(one) === hubId),
    }));
  }

  /** Does it for all at once. Answers with what could not be done, as sentences. */
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
    async engine() {
      const { version } = await engine.version();
      return `Docker Engine ${version} at ${engine.address}`;
    },
    async remove(hubId) {
      const { containers = [], networks = [] } = (await findHolding(hubId)) ?? {};
      return [
        ...(await forEach(containers, ({ id }) => engine.removeContainer(id))),
        // A network with a container on it is not removed.
        ...(await forEach(networks, ({ id }) => engine.removeNetwork(id))),
      ];
    },
    async removeVolumes(hubId, names) {
      const { volumes = [] } = (await findHolding(hubId)) ?? {};
      const wanted = volumes.filter(({ name }) => names.includes(name));
      return await forEach(wanted, ({ name }) => engine.removeVolume(name));
    },
  };
}
