import { randomBytes } from 'node:crypto';
import { type Clock, type Log, type Service, DeadlineExceeded, messageOf, sleep } from '#core';
import type { Instance, LaunchSpec, PackageSource, Runtime, Upkeep } from '#runtimes';
import { adopt } from './container/adopt.ts';
import { createContainer } from './container/create.ts';
import { hubLabel, managedLabel } from './container/labels.ts';
import { launch } from './container/launch.ts';
import { createNames } from './container/names.ts';
import { nameOf } from './container/options.ts';
import { createRun } from './container/run.ts';
import { targetOf, throwIfCancelled } from './container/spec.ts';
import { createTurns } from './container/turns.ts';
import { parseAddress } from './engine/address.ts';
import { createEngine } from './engine/client.ts';
import type { BuildLimits } from './engine/engine.ts';
import { isUnheard, toHubError } from './engine/errors.ts';
import { createEngineEvents } from './engine/events.ts';
import { type EngineVersion, type Exposure, createExposure } from './exposure.ts';
import { createImages } from './image/images.ts';
import type { Locks } from './image/lock.ts';
import { createImageUsers } from './image/users.ts';
import { removeBuildNetwork } from './leftovers/build-network.ts';
import { type Tidied, createTidying } from './leftovers/tidying.ts';
import { createUpkeep } from './upkeep.ts';
import { createVolumeBound } from './volumes/bound.ts';
import { createImageVolumes } from './volumes/declared.ts';
import { createVolumeWatch } from './volumes/watch.ts';

export type DockerRuntimeOptions = {
  /** Identifies the containers of this hub on a shared engine; stored as a label. */
  readonly hubId: string;
  /** Prefix of the names of containers, networks and volumes, and the name of their compose project. */
  readonly hubName: string;
  /** In the format of DOCKER_HOST. Undefined: the default of the platform. */
  readonly dockerHost: string | undefined;
  /** Folder of the build contexts `npm/` and `python/`. */
  readonly imagesDir: string;
  /** Timeout for building or pulling an image. */
  readonly buildTimeoutMs?: number;
  /** Limits of each build step. */
  readonly buildLimits?: BuildLimits;
  /** Grace period for servers that are running when the runtime stops. */
  readonly stopGraceMs?: number;
  /** Minimum interval between measurements of the volumes. */
  readonly volumeCheckMs?: number;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  /** True if the container is going to be adopted by its handle, so it must not be removed. */
  readonly isAwaited: (containerId: string) => boolean;
  /** As in `process.platform`. */
  readonly platform?: string;
  /** True if the hub needs an engine, so `start` connects to it. Default: true. */
  readonly isExpected?: () => boolean;
  /** Stores the resolved dependencies of packages. Absent: not stored. */
  readonly locks?: Locks;
  /** Finds the package of the same name in another registry, in the notation of config entries. Never rejects. */
  readonly findElsewhere?: (
    source: PackageSource,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
};

const defaults = {
  buildTimeoutMs: 15 * 60_000,
  buildLimits: { memoryBytes: 2 * 2 ** 30, cpus: 2 },
  stopGraceMs: 5_000,
  volumeCheckMs: 10_000,
};
const probeMs = 2_000;
/** Maximum time in ms that the start of the hub waits for the removal of leftovers. */
const beginMs = 2_000;

/**
 * Runs servers in containers of a Docker engine. As a service, `start` removes the leftovers of earlier runs of the
 * same hub, and `stop` stops all running servers. Throws HUB_LAUNCH_INVALID for an invalid `dockerHost`.
 */
export function createDockerRuntime(
  options: DockerRuntimeOptions,
  needs: Needs,
): Runtime & Service & { readonly upkeep: Upkeep; readonly exposure: Exposure } {
  const parts = createParts(options, needs);
  const { engine, events, exposure, images, instances, tidying, turns, owner } = parts;

  async function probeVersion(signal: AbortSignal): Promise<EngineVersion> {
    const version = await engine.version({ timeoutMs: probeMs, signal });
    exposure.learn(version);
    return version;
  }

  /** Runs work within the launch timeout of the spec. A timeout means that the engine does not answer. */
  async function inTime<T>(spec: LaunchSpec, work: (late: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await turns.take(nameOf(owner, spec), spec.timeoutMs, work);
    } catch (error) {
      throw error instanceof DeadlineExceeded
        ? toHubError(error, `launch ${spec.server}`, engine.address)
        : error;
    }
  }

  /** A call without an answer may have created objects whose ids are unknown. */
  async function removeUnknown(error: unknown): Promise<never> {
    if (isUnheard(error) && (await tidying.now()) === 'unheard') tidying.owe();
    throw error;
  }

  return {
    name: 'docker',
    kind: 'docker',
    upkeep: createUpkeep(parts),
    exposure,
    async start(signal) {
      if (!(needs.isExpected?.() ?? true)) return;
      // Leftovers must be gone before new servers take their names.
      const begun = events.start().then(() => parts.tidied());
      await Promise.race([begun, sleep(beginMs, { clock: needs.clock, signal })]);
    },
    async stop() {
      const { stopGraceMs: graceMs } = { ...defaults, ...options };
      await Promise.all(Array.from(instances, instance => instance.stop({ graceMs })));
      events.stop();
      tidying.stop();
    },
    async probe(signal) {
      try {
        const { version, os } = await probeVersion(signal);
        return os === 'linux'
          ? { healthy: true, detail: `Docker Engine ${version} at ${engine.address}` }
          : { healthy: false, detail: `the engine at ${engine.address} runs ${os} containers` };
      } catch (error) {
        return { healthy: false, detail: messageOf(error) };
      }
    },
    async launch(spec, report, signal) {
      throwIfCancelled(spec, signal);
      void events.start();
      try {
        const { image: wanted } = targetOf(spec);
        // Exposure must be known before any code of the server runs.
        if (!exposure.isKnown) await probeVersion(signal);
        exposure.launching(spec);
        const progress = (text: string) => report.progress(text);
        const image = await images.provide(wanted, progress, signal, spec.timeoutMs);
        return await inTime(spec, late =>
          launch(spec, image, report, AbortSignal.any([signal, late]), parts).catch(removeUnknown),
        );
      } catch (error) {
        throwIfCancelled(spec, signal);
        throw error;
      }
    },
    async adopt(spec, handle, report, signal) {
      void events.start();
      try {
        return await inTime(spec, late => adopt(spec, handle, report, { signal, late }, parts));
      } catch (error) {
        // If the server is stopped now, its container is no longer awaited and must be removed.
        if (isUnheard(error)) tidying.owe();
        throw error;
      }
    },
    async identify(spec) {
      return (await images.find(targetOf(spec).image))?.id;
    },
  };
}

/** Creates and connects the parts of the runtime. */
function createParts(given: DockerRuntimeOptions, needs: Needs) {
  const { clock } = needs;
  const log = needs.log.child({ part: 'docker' });
  const options = { ...defaults, ...given };
  const owner = { hubId: options.hubId, hubName: options.hubName };
  const label = `${hubLabel}=${owner.hubId}`;
  const address = parseAddress(options.dockerHost);
  const engine = createEngine(address, clock);
  const instances = new Set<Instance>();
  const names = createNames({ log, owe: () => tidying.owe() });
  const tidying = createTidying(label, {
    engine,
    clock,
    log,
    isHeld: name => names.has(name),
    isAwaited: needs.isAwaited,
  });
  let tidied: Promise<Tidied> | undefined;
  const onConnected = () => void (tidied = tidying.now());
  const events = createEngineEvents(label, { engine, clock, log, onConnected });
  const volumeWatch = createVolumeWatch(options.volumeCheckMs, { engine, clock, log });
  const volumeBound = createVolumeBound(owner, volumeWatch);
  const users = createImageUsers({ engine, owner });

  /** Runs a build in a network of its own: in the default network it could reach other containers. */
  async function withNetwork<T>(work: (network: string) => Promise<T>): Promise<T> {
    // Cannot collide with a server: their names do not begin with a dot.
    const name = `${owner.hubName}-.build-${randomBytes(6).toString('hex')}`;
    await using made = names.hold(name);
    await engine.createNetwork(name, { [hubLabel]: owner.hubId, [managedLabel]: 'true' });
    made.add(`network ${name}`, () => removeBuildNetwork(name, { engine, clock }));
    return await work(name);
  }

  const { locks, findElsewhere } = needs;
  return {
    engine,
    log,
    owner,
    names,
    instances,
    events,
    tidying,
    tidied: () => tidied,
    exposure: createExposure(address, needs.platform ?? process.platform),
    turns: createTurns({ clock }),
    users,
    images: createImages(options, {
      engine,
      clock,
      users,
      locks,
      withNetwork,
      ...(findElsewhere && { findElsewhere }),
    }),
    imageVolumes: createImageVolumes({
      engine,
      owner,
      create: (name, spec, body) => createContainer(name, body, spec, { engine, log, owner }),
    }),
    volumeBound,
    run: createRun(instances, { engine, events, clock, log, owner, names, tidying, volumeBound }),
  };
}
