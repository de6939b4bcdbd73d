import { randomBytes } from 'node:crypto';
import {
  type Clock,
  type Log,
  type Service,
  DeadlineExceeded,
  HubError,
  messageOf,
  sleep,
} from '#core';
import type {
  DockerTarget,
  Instance,
  LaunchEvents,
  LaunchSpec,
  PackageSource,
  Runtime,
  Upkeep,
} from '#runtimes';
import { parseAddress } from './address.ts';
import { type Attachment, createAttachment } from './attach.ts';
import { createEngine } from './client.ts';
import type { BuildLimits } from './engine.ts';
import { createEngineEvents } from './events.ts';
import { type EngineVersion, type Exposure, createExposure } from './exposure.ts';
import { isUnheard, toHubError } from './engine-error.ts';
import { createImageUsers } from './image-users.ts';
import { createImageVolumes, declaredVolumes } from './image-volumes.ts';
import { createImages } from './images.ts';
import { createInstance, readHandle } from './instance.ts';
import { digestLabel, hubLabel, managedLabel } from './labels.ts';
import type { Locks } from './lock.ts';
import { createContainer, createNetwork, targetOf, toLaunchError } from './launch.ts';
import { type Image, createOptions, nameOf, userOf } from './options.ts';
import { createNames } from './names.ts';
import { removeLeftNetwork } from './left-network.ts';
import { type Tidied, createTidying } from './tidying.ts';
import { createTurns } from './turns.ts';
import { createUpkeep } from './upkeep.ts';
import { createVolumeBound } from './volume-bound.ts';
import { createVolumeWatch } from './volume-watch.ts';

export type DockerRuntimeOptions = {
  /** Tells this hub's containers from those of any other on the same engine; a label on each. */
  readonly hubId: string;
  /** The prefix of the names of containers, networks and volumes, and their compose project. */
  readonly hubName: string;
  /** As in DOCKER_HOST; undefined for the platform's default. */
  readonly dockerHost: string | undefined;
  /** The folder of the build contexts: `npm/` and `python/` in it. */
  readonly imagesDir: string;
  /** How long building or pulling an image may take. */
  readonly buildTimeoutMs?: number;
  /** What each step of a build may use. */
  readonly buildLimits?: BuildLimits;
  /** The grace for servers that still run when the runtime itself is stopped. */
  readonly stopGraceMs?: number;
  /** Minimum time between two looks at the sizes of volumes. */
  readonly volumeCheckMs?: number;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a container that nobody runs is going to be taken back by its handle: it is left alone. */
  readonly isAwaited: (containerId: string) => boolean;
  /** As `process.platform` says it. */
  readonly platform?: string;
  /** Whether there should be an engine: it is looked for from the start on. Absent: there should. */
  readonly isExpected?: () => boolean;
  /** Keeps what packages were resolved to. Absent: nobody does. */
  readonly locks?: Locks;
  /** The package of the same name in another registry, as entries name it. Never rejects. */
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
/** How long the hub waits, when it starts, for what an earlier run has left to be removed. */
const beginMs = 2_000;

/**
 * Runs servers in containers of a Docker engine. As a service of the app it removes, when it starts,
 * what an earlier run of the same hub has left, and when it stops, what still runs. Throws
 * HUB_LAUNCH_INVALID for a `dockerHost` that cannot be read.
 */
export function createDockerRuntime(
  options: DockerRuntimeOptions,
  needs: Needs,
): Runtime & Service & { readonly upkeep: Upkeep; readonly exposure: Exposure } {
  const { clock } = needs;
  const log = needs.log.child({ part: 'docker' });
  const owner = { hubId: options.hubId, hubName: options.hubName };
  const label = `${hubLabel}=${owner.hubId}`;
  const place = parseAddress(options.dockerHost);
  const engine = createEngine(place, clock);
  const exposure = createExposure(place, needs.platform ?? process.platform);
  const turns = createTurns({ clock });
  const imageVolumes = createImageVolumes({
    engine,
    owner,
    create: (name, spec, body) => createContainer(name, body, spec, { engine, log, owner }),
  });
  const volumeBound = createVolumeBound(
    owner,
    createVolumeWatch({ ...defaults, ...options }.volumeCheckMs, { engine, clock, log }),
  );
  const names = createNames({ log, owe: () => tidying.owe() });
  const { findElsewhere } = needs;
  const users = createImageUsers({ engine, owner });
  const images = createImages(
    { ...defaults, ...options },
    {
      engine,
      clock,
      users,
      locks: needs.locks,
      withNetwork,
      ...(findElsewhere && { findElsewhere }),
    },
  );
  const instances = new Set<Instance>();
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

  /** A build may reach the registry, and no container: on the engine's default network it could. */
  async function withNetwork<T>(work: (network: string) => Promise<T>): Promise<T> {
    // No server's name begins with a dot.
    const name = `${owner.hubName}-.build-${randomBytes(6).toString('hex')}`;
    await using made = names.hold(name);
    await engine.createNetwork(name, { [hubLabel]: owner.hubId, [managedLabel]: 'true' });
    made.add(`network ${name}`, () => removeLeftNetwork(name, { engine, clock }));
    return await work(name);
  }

  async function versionOf(signal: AbortSignal): Promise<EngineVersion> {
    const version = await engine.version({ timeoutMs: probeMs, signal });
    exposure.learn(version);
    return version;
  }

  /** Work for which a launch has its time. Where that is over it is the engine that does not answer. */
  async function inTime<T>(spec: LaunchSpec, work: (late: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await turns.take(nameOf(owner, spec), spec.timeoutMs, work);
    } catch (error) {
      throw error instanceof DeadlineExceeded
        ? toHubError(error, `launch ${spec.server}`, engine.address)
        : error;
    }
  }

  /** `signal` aborts also when the engine has taken too long. */
  async function launch(
    spec: LaunchSpec,
    image: Image,
    report: LaunchEvents,
    signal: AbortSignal,
  ): Promise<Instance> {
    const target = targetOf(spec);
    const name = nameOf(owner, spec);
    throwIfCancelled(spec, signal);
    if (names.has(name))
      throw new HubError('HUB_CONTAINER_NAME_TAKEN', `${name} runs already. Stop it first`);

    await using made = names.hold(name);
    if (target.network === 'bridge') {
      const network = await createNetwork(spec, { engine, log, owner });
      made.add(`network ${network}`, () => engine.removeNetwork(network));
      throwIfCancelled(spec, signal);
    }
    // Not aborted midway: the engine might make a container whose id is then not known.
    const { scratch, volumes } = await imageVolumes.placesOf(spec, target, image);
    throwIfCancelled(spec, signal);
    const whole = { ...target, volumes: [...target.volumes, ...volumes] };
    await volumeBound.check(spec, whole);
    const user = userOf(target, image);
    if (target.user === undefined && user !== image.user && image.user !== '')
      log.info(
        { server: spec.server, image: image.reference, imageUser: image.user, user },
        'the user of the image may be root: it runs as another. Set "user" to a number to change it',
      );
    const body = createOptions(owner, spec, whole, image, scratch);
    const id = await createContainer(name, body, spec, { engine, log, owner });
    made.add(`container ${name}`, () => engine.removeContainer(id));
    throwIfCancelled(spec, signal);

    const attachment = createAttachment(await engine.attach(id), spec, line => report.stderr(line));
    // It may have ended before the engine has answered to its start: what it leaves is then awaited.
    const left = Promise.withResolvers<AsyncDisposable>();
    const instance = run(
      {
        id,
        name,
        image,
        spec,
        target: whole,
        attachment,
        isAdoptable: spec.digest !== undefined,
        left: left.promise,
      },
      report,
    );
    try {
      await engine.startContainer(id, signal);
      throwIfCancelled(spec, signal);
    } catch (error) {
      attachment.end({ reason: messageOf(error) });
      left.resolve(new AsyncDisposableStack());
      throw toLaunchError(error, spec);
    }
    left.resolve(made.move());
    return instance;
  }

  /** The engine may have done what it could not answer to, without telling its id. */
  async function afterwards(error: unknown): Promise<never> {
    if (isUnheard(error) && (await tidying.now()) === 'unheard') tidying.owe();
    throw error;
  }

  /** Follows a container to its end. What is `left` of it then is removed, unless it may still run. */
  function run(
    container: {
      readonly id: string;
      readonly name: string;
      readonly image: Image;
      readonly spec: LaunchSpec;
      readonly target: DockerTarget;
      readonly attachment: Attachment;
      readonly isAdoptable: boolean;
      readonly left: Promise<AsyncDisposable>;
    },
    report: LaunchEvents,
  ): Instance {
    const { id, name, image, spec, target, attachment, isAdoptable, left } = container;
    const instance = createInstance(
      {
        id,
        name,
        image: image.reference,
        imageId: image.id,
        memoryBytes: target.limits.memoryBytes,
        attachment,
        ...(target.volumes.length > 0 && {
          watchVolumes: exceeded => volumeBound.watch(spec, target, exceeded),
        }),
        async release(end) {
          const made = await left;
          instances.delete(instance);
          if (!end.isUnheard && !(end.isLost && isAdoptable))
            return await made[Symbol.asyncDispose]();
          // Removed as soon as nobody awaits it any more and the engine answers.
          names.leave(name);
          tidying.owe();
        },
      },
      { engine, events, clock, log, report },
    );
    instances.add(instance);
    return instance;
  }

  /** `late` aborts when the engine has taken too long: it is left as it is then, to be taken back later. */
  async function adopt(
    spec: LaunchSpec,
    handle: string,
    report: LaunchEvents,
    signal: AbortSignal,
    late: AbortSignal,
  ): Promise<Instance | undefined> {
    const target = targetOf(spec);
    const name = nameOf(owner, spec);
    const { id, startedAt } = readHandle(handle);
    const found = await engine.findContainer(id);
    late.throwIfAborted();
    if (found?.labels[hubLabel] !== owner.hubId || names.has(name)) return undefined;
    await using made = names.hold(name);
    const image = await images.find(target.image);
    const isSame =
      found.name === name &&
      found.state.isRunning &&
      found.state.startedAt === startedAt &&
      spec.digest !== undefined &&
      found.labels[digestLabel] === spec.digest &&
      found.imageId === image?.id;
    late.throwIfAborted();
    const socket = isSame && !signal.aborted ? await engine.attach(id) : undefined;
    if (late.aborted) socket?.destroy();
    late.throwIfAborted();
    if (target.network === 'bridge') made.add(`network ${name}`, () => engine.removeNetwork(name));
    made.add(`container ${name}`, () => engine.removeContainer(id));
    throwIfCancelled(spec, signal);
    if (!image || !socket) return undefined;
    const attachment = createAttachment(socket, { ...spec, isTakenOver: true }, line =>
      report.stderr(line),
    );
    const left = Promise.resolve(made.move());
    const volumes = declaredVolumes(spec, target, image);
    const whole = { ...target, volumes: [...target.volumes, ...volumes] };
    return run(
      { id, name, image, spec, target: whole, attachment, isAdoptable: true, left },
      report,
    );
  }

  return {
    name: 'docker',
    kind: 'docker',
    upkeep: createUpkeep({ engine, images, users, owner }),
    exposure,
    async start(signal) {
      if (!(needs.isExpected?.() ?? true)) return;
      // What is left of an earlier run takes no name from what is started meanwhile.
      const begun = events.start().then(() => tidied);
      await Promise.race([begun, sleep(beginMs, { clock, signal })]);
    },
    async stop() {
      const { stopGraceMs: graceMs } = { ...defaults, ...options };
      await Promise.all(Array.from(instances, instance => instance.stop({ graceMs })));
      events.stop();
      tidying.stop();
    },
    async probe(signal) {
      try {
        const { version, os } = await versionOf(signal);
        if (os !== 'linux')
          return {
            healthy: false,
            detail: `the engine at ${engine.address} runs ${os} containers`,
          };
        return { healthy: true, detail: `Docker Engine ${version} at ${engine.address}` };
      } catch (error) {
        return { healthy: false, detail: messageOf(error) };
      }
    },
    async launch(spec, report, signal) {
      throwIfCancelled(spec, signal);
      void events.start();
      try {
        const { image: wanted } = targetOf(spec);
        // Whether it can reach the hub is known before anything of it runs.
        if (!exposure.isKnown) await versionOf(signal);
        exposure.launching(spec);
        const tell = (text: string) => report.progress(text);
        const image = await images.provide(wanted, tell, signal, spec.timeoutMs);
        return await inTime(spec, late =>
          launch(spec, image, report, AbortSignal.any([signal, late])).catch(afterwards),
        );
      } catch (error) {
        throwIfCancelled(spec, signal);
        throw error;
      }
    },
    async adopt(spec, handle, report, signal) {
      void events.start();
      try {
        return await inTime(spec, late => adopt(spec, handle, report, signal, late));
      } catch (error) {
        // Whoever stops it now does not await it any more.
        if (isUnheard(error)) tidying.owe();
        throw error;
      }
    },
    async identify(spec) {
      return (await images.find(targetOf(spec).image))?.id;
    },
  };
}

function throwIfCancelled(spec: LaunchSpec, signal: AbortSignal): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof HubError) throw signal.reason;
  throw new HubError('HUB_CALL_CANCELLED', `the start of ${spec.server} was cancelled`, {
    cause: signal.reason,
    data: { server: spec.server },
  });
}
