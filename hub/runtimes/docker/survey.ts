import { type Clock, messageOf } from '#core';
import { parseAddress } from './address.ts';
import { createEngine } from './client.ts';
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
};

/** Looks at what all hubs have on an engine, whether they still run or not. */
export interface Surveyor {
  /** The engine's version and address. Rejects with HUB_ENGINE_UNREACHABLE. */
  engine(): Promise<string>;
  /** By hub. Rejects with HUB_ENGINE_UNREACHABLE. */
  holdings(): Promise<readonly Holding[]>;
  /**
   * Removes the containers and networks of a hub, volumes never. Answers with what could not be removed, as
   * sentences. Rejects with HUB_ENGINE_UNREACHABLE.
   */
  remove(hubId: string): Promise<readonly string[]>;
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
    const hubOf = ({ labels }: { readonly labels: Readonly<Record<string, string>> }) =>
      labels[hubLabel] ?? '';
    const hubs = new Set([...containers, ...networks].map(hubOf));
    return [...hubs].toSorted().map(hubId => ({
      hubId,
      containers: containers
        .filter(one => hubOf(one) === hubId)
        .map(one => ({ ...one, server: one.labels[serverLabel] ?? '' })),
      networks: networks.filter(one => hubOf(one) === hubId),
    }));
  }

  return {
    holdings,
    async engine() {
      const { version } = await engine.version();
      return `Docker Engine ${version} at ${engine.address}`;
    },
    async remove(hubId) {
      const left: string[] = [];
      const attempt = async (name: string, work: Promise<void>) => {
        try {
          await work;
        } catch (error) {
          left.push(`${name}: ${messageOf(error)}`);
        }
      };
      const found = (await holdings()).find(one => one.hubId === hubId);
      const { containers = [], networks = [] } = found ?? {};
      await Promise.all(
        containers.map(({ id, name }) => attempt(name, engine.removeContainer(id))),
      );
      // A network with a container on it is not removed.
      await Promise.all(networks.map(({ id, name }) => attempt(name, engine.removeNetwork(id))));
      return left;
    },
  };
}
