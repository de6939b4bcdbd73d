import { type Clock, type Log, type Part, HubError, messageOf } from '#core';
import type { DockerTarget, Instance, LaunchEvents, LaunchSpec, Runtime, Upkeep } from '#runtimes';
import { parseAddress } from './address.ts';
import { type Attachment, createAttachment } from './attach.ts';
import { createEngine } from './client.ts';
import { createEngineEvents } from './events.ts';
import { createImages } from './images.ts';
import { createInstance, readHandle } from './instance.ts';
import { digestLabel, hubLabel } from './labels.ts';
import { createContainer, createNetwork, targetOf, tidyUp, toLaunchError } from './launch.ts';
import { type Image, createOptions, nameOf, userOf } from './options.ts';
import { reap } from './reap.ts';
import { createUpkeep } from './upkeep.ts';

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
  /** The grace for servers that still run when the runtime itself is stopped. */
  readonly stopGraceMs?: number;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a container that nobody runs is going to be taken back by its handle: it is left alone. */
  readonly isAwaited: (containerId: string) => boolean;
};

const defaults = { buildTimeoutMs: 15 * 60_000, stopGraceMs: 5_000 };
const probeMs = 2_000;

/**
 * Runs servers in containers of a Docker engine. As a part of the app it removes, when it starts,
 * what an earlier run of the same hub has left, and when it stops, what still runs. Throws
 * HUB_LAUNCH_INVALID for a `dockerHost` that cannot be read.
 */
export function createDockerRuntime(
  options: DockerRuntimeOptions,
  needs: Needs,
): Runtime & Part & { readonly upkeep: Upkeep } {
  const { clock } = needs;
  const log = needs.log.child({ part: 'docker' });
  const owner = { hubId: options.hubId, hubName: options.hubName };
  const label = `${hubLabel}=${owner.hubId}`;
  const engine = createEngine(parseAddress(options.dockerHost), clock);
  const images = createImages({ ...defaults, ...options }, { engine, clock });
  /** Names of containers that are being started or run, so that they are not taken for leftovers. */
  const held = new Set<string>();
  const instances = new Set<Instance>();
  const events = createEngineEvents(label, { engine, clock, log, onConnected });

  /** Set where the start has removed what was left, just before it connects. */
  let isTidy = false;
  function onConnected(): void {
    if (!isTidy) void tidy();
    isTidy = false;
  }

  /** Removes what nobody holds; answers whether the engine could be asked. */
  async function tidy(): Promise<boolean> {
    try {
      await reap(label, {
        engine,
        log,
        isHeld: ({ id, name }) => held.has(name) || needs.isAwaited(id),
      });
      return true;
    } catch (error) {
      log.debug({ problem: messageOf(error) }, 'what may be left of an earlier run is not removed');
      return false;
    }
  }

  async function launch(spec: LaunchSpec, report: LaunchEvents, signal: AbortSignal) {
    const target = targetOf(spec);
    const name = nameOf(owner, spec);
    const image = await images.provide(target.image, text => report.progress(text), signal);
    throwIfCancelled(spec, signal);
    if (held.has(name))
      throw new HubError('HUB_CONTAINER_NAME_TAKEN', `${name} runs already. Stop it first`);

    await using made = new AsyncDisposableStack();
    held.add(name);
    made.defer(() => void held.delete(name));
    if (target.network === 'bridge') {
      const network = await createNetwork(spec, { engine, log, owner });
      made.defer(() => tidyUp(log, `network ${network}`, () => engine.removeNetwork(network)));
      throwIfCancelled(spec, signal);
    }
    // Not aborted midway: the engine might make a container whose id is then not known.
    const user = userOf(target, image);
    if (target.user === undefined && user !== image.user && image.user !== '')
      log.info(
        { server: spec.server, image: image.reference, imageUser: image.user, user },
        'the user of the image may be root: it runs as another. Set "user" to a number to change it',
      );
    const body = createOptions(owner, spec, target, image);
    const id = await createContainer(name, body, spec, { engine, log, owner });
    made.defer(() => tidyUp(log, `container ${name}`, () => engine.removeContainer(id)));
    throwIfCancelled(spec, signal);

    const attachment = createAttachment(await engine.attach(id), spec, line => report.stderr(line));
    // It may have ended before the engine has answered to its start: what it leaves is then awaited.
    const left = Promise.withResolvers<AsyncDisposableStack>();
    const instance = run(
      {
        id,
        name,
        image,
        target,
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

  /** Follows a container to its end. What is `left` of it then is removed, unless it may still run. */
  function run(
    container: {
      readonly id: string;
      readonly name: string;
      readonly image: Image;
      readonly target: DockerTarget;
      readonly attachment: Attachment;
      readonly isAdoptable: boolean;
      readonly left: Promise<AsyncDisposableStack>;
    },
    report: LaunchEvents,
  ): Instance {
    const { id, name, image, target, attachment, isAdoptable, left } = container;
    const instance = createInstance(
      {
        id,
        name,
        image: image.reference,
        imageId: image.id,
        memoryBytes: target.limits.memoryBytes,
        attachment,
        async release({ isLost }) {
          const made = await left;
          instances.delete(instance);
          if (isLost && isAdoptable) held.delete(name);
          else await made.disposeAsync();
        },
      },
      { engine, events, clock, log, report },
    );
    instances.add(instance);
    return instance;
  }

  async function adopt(
    spec: LaunchSpec,
    handle: string,
    report: LaunchEvents,
    signal: AbortSignal,
  ): Promise<Instance | undefined> {
    const target = targetOf(spec);
    const name = nameOf(owner, spec);
    const { id, startedAt } = readHandle(handle);
    const found = await engine.findContainer(id);
    if (found?.labels[hubLabel] !== owner.hubId || held.has(name)) return undefined;
    await using made = new AsyncDisposableStack();
    held.add(name);
    made.defer(() => void held.delete(name));
    if (target.network === 'bridge')
      made.defer(() => tidyUp(log, `network ${name}`, () => engine.removeNetwork(name)));
    made.defer(() => tidyUp(log, `container ${name}`, () => engine.removeContainer(id)));
    const image = await images.find(target.image);
    const isSame =
      found.name === name &&
      found.state.isRunning &&
      found.state.startedAt === startedAt &&
      spec.digest !== undefined &&
      found.labels[digestLabel] === spec.digest &&
      found.imageId === image?.id;
    if (!isSame) return undefined;
    throwIfCancelled(spec, signal);
    const attachment = createAttachment(
      await engine.attach(id),
      { ...spec, isTakenOver: true },
      line => report.stderr(line),
    );
    const left = Promise.resolve(made.move());
    return run({ id, name, image, target, attachment, isAdoptable: true, left }, report);
  }

  return {
    name: 'docker',
    kind: 'docker',
    upkeep: createUpkeep({ engine, images, owner }),
    async start() {
      // Where no engine answers, nothing is followed until a server is to run on it.
      isTidy = await tidy();
      if (isTidy) await events.start();
    },
    async stop() {
      const { stopGraceMs: graceMs } = { ...defaults, ...options };
      await Promise.all(Array.from(instances, instance => instance.stop({ graceMs })));
      events.stop();
    },
    async probe(signal) {
      try {
        const { version, os } = await engine.version({ timeoutMs: probeMs, signal });
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
        return await launch(spec, report, signal);
      } catch (error) {
        // The engine may have done what it could not answer to, without telling its id.
        if (error instanceof HubError && error.code === 'HUB_ENGINE_UNREACHABLE') await tidy();
        throwIfCancelled(spec, signal);
        throw error;
      }
    },
    adopt(spec, handle, report, signal) {
      void events.start();
      return adopt(spec, handle, report, signal);
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
