import { randomBytes } from 'node:crypto';
import type { Clock, Log } from '#core';
import type { Instance } from '#runtimes';
import { type ContainerOwner, hubLabel, ownLabels } from './container/labels.ts';
import { createNames } from './container/names.ts';
import { createTurns } from './container/turns.ts';
import { parseAddress } from './engine/address.ts';
import { createEngine } from './engine/engine.ts';
import { createEngineEvents } from './engine/events.ts';
import type { BuildLimits } from './engine/images.ts';
import { createLimitWarning } from './engine/limits.ts';
import { forwarderImage } from './egress/container.ts';
import { createEgress } from './egress/egress.ts';
import type { HubPlaces } from './egress/protocol.ts';
import { createExposure } from './exposure.ts';
import { type ImageNeeds, createImages } from './image/images.ts';
import { createImagePruning } from './image/pruning.ts';
import { createImageUsers } from './image/users.ts';
import { type Tidied, createTidying, removeBuildNetwork } from './leftovers/tidying.ts';
import { createSecretDelivery } from './secrets/delivery.ts';
import { createVolumeBound, createVolumeWatch } from './volumes/bound.ts';
import { createImageVolumes } from './volumes/declared.ts';

export type DockerRuntimeOptions = ContainerOwner & {
  /** Address of the engine in the format of DOCKER_HOST. Undefined: the default of the platform. */
  readonly dockerHost: string | undefined;
  /** Folder of the build contexts `npm/` and `python/`. */
  readonly imagesDir: string;
  readonly buildLimits?: BuildLimits;
  /** Minimum interval between measurements of the volumes, in ms. */
  readonly volumeCheckMs?: number;
};

export type DockerRuntimeNeeds = Pick<ImageNeeds, 'locks' | 'findElsewhere'> & {
  readonly clock: Clock;
  readonly log: Log;
  /** True if the container is going to be adopted by its handle and must not be removed. */
  readonly isAwaited: (containerId: string) => boolean;
  /** Platform of the hub, as in `process.platform`. */
  readonly platform?: string;
  /** Addresses of the hub and its services, which no server may reach. Default: none. */
  readonly hubPlaces?: () => Promise<HubPlaces>;
  /** True if the hub needs an engine, so that `start` connects to it. Default: true. */
  readonly isExpected?: () => boolean;
};

const defaults = {
  buildLimits: { memoryBytes: 2 * 2 ** 30, cpus: 2 },
  volumeCheckMs: 10_000,
};

export type DockerParts = ReturnType<typeof createParts>;

/** Creates the parts of the runtime, and connects them with each other. */
export function createParts(given: DockerRuntimeOptions, needs: DockerRuntimeNeeds) {
  const { clock } = needs;
  const log = needs.log.child({ part: 'docker' });
  const options = { ...defaults, ...given };
  const owner = { hubId: options.hubId, hubName: options.hubName };
  const label = `${hubLabel}=${owner.hubId}`;
  const address = parseAddress(options.dockerHost);
  const engine = createEngine(address, clock);
  const names = createNames({ log, owe: () => tidying.owe() });
  const nowhere: HubPlaces = { addresses: [], ports: [], backends: [] };
  const egress = createEgress(
    { owner, imagesDir: options.imagesDir, buildLimits: options.buildLimits },
    { engine, clock, log, hubPlaces: needs.hubPlaces ?? (async () => nowhere) },
  );
  const imageVolumes = createImageVolumes({ engine, log, owner });
  const isHeld = (name: string) => names.has(name) || imageVolumes.isLooking(name);
  const tidying = createTidying(label, { ...needs, engine, log, egress, imageVolumes, isHeld });
  let tidied: Promise<Tidied> | undefined;
  async function tidy(): Promise<Tidied> {
    const found = await tidying.now();
    // The forwarder of an earlier run stays until it is known which servers need it.
    if (found === 'left') tidying.owe();
    return found;
  }
  const warnOfLimits = createLimitWarning({ engine, log });
  function onConnected(): void {
    tidied = tidy();
    void warnOfLimits();
  }
  const volumeWatch = createVolumeWatch(options.volumeCheckMs, { engine, clock, log });
  const users = createImageUsers({ engine, owner });
  const images = createImages(options, { ...needs, engine, users, withNetwork });

  /** Runs a build in a temporary network: in the default network, the build could reach other containers. */
  async function withNetwork<T>(work: (network: string) => Promise<T>): Promise<T> {
    // Does not collide with the networks of servers, whose names do not begin with a dot.
    const name = `${owner.hubName}-.build-${randomBytes(6).toString('hex')}`;
    await using made = names.hold(name);
    await engine.createNetwork(name, ownLabels(owner));
    made.add(`network ${name}`, () => removeBuildNetwork(name, { engine, clock }));
    return await work(name);
  }

  return {
    engine,
    clock,
    log,
    owner,
    names,
    instances: new Set<Instance>(),
    events: createEngineEvents(label, { engine, clock, log, onConnected }),
    tidying,
    egress,
    /** Resolves with the result of the cleanup since the last connect. */
    tidied: () => tidied,
    exposure: createExposure(address, needs.platform ?? process.platform),
    turns: createTurns({ clock }),
    users,
    images,
    pruning: createImagePruning({
      engine,
      images,
      users,
      forwarder: async () => (await forwarderImage(options.imagesDir)).tag,
      hubId: owner.hubId,
    }),
    imageVolumes,
    volumeBound: createVolumeBound(owner, volumeWatch),
    secretDelivery: createSecretDelivery({ engine, log, owner, names }),
  };
}
