import { type Service, DeadlineExceeded, HubError, messageOf, sleep } from '#core';
import {
  type Belonging,
  type ImagePruning,
  type LaunchSpec,
  type Runtime,
  type Upkeep,
  throwIfCancelled,
} from '#runtimes';
import { hubLabel, managedLabel } from './container/labels.ts';
import { adopt, launch, targetOf } from './container/launch.ts';
import { nameOf, volumeName } from './container/options.ts';
import type { Egress } from './egress/egress.ts';
import { isRefusal, isUnheard, toHubError } from './engine/errors.ts';
import { type Exposure, isBuilt } from './exposure.ts';
import {
  type DockerRuntimeNeeds,
  type DockerRuntimeOptions,
  type DockerParts,
  createParts,
} from './parts.ts';
import { declaredVolumes } from './volumes/declared.ts';

const probeMs = 2_000;
/** Maximum time in ms that the start of the hub waits for the removal of leftovers. */
const beginMs = 2_000;
/** Grace period in ms for servers that are running when the runtime stops. */
const stopGraceMs = 5_000;

/**
 * Runs servers in containers of a Docker engine. As a service, `start` removes the leftovers of earlier runs of the
 * same hub, and `stop` stops all running servers. Throws HUB_LAUNCH_INVALID for an invalid `dockerHost`.
 */
export function createDockerRuntime(
  options: DockerRuntimeOptions,
  needs: DockerRuntimeNeeds,
): Runtime &
  Service & {
    readonly upkeep: Upkeep;
    readonly exposure: Exposure;
    readonly pruning: ImagePruning;
    readonly egress: Pick<Egress, 'allow' | 'report'>;
  } {
  const parts = createParts(options, needs);
  const { engine, events, exposure, images, instances, tidying, turns, owner } = parts;

  async function probeVersion(signal: AbortSignal) {
    const version = await engine.version({ timeoutMs: probeMs, signal });
    exposure.learn(version);
    return version;
  }

  /**
   * Determines whether containers can reach the host's loopback, before any code of the server runs in a container or a
   * build.
   */
  async function expose(spec: LaunchSpec, signal: AbortSignal): Promise<void> {
    if (!exposure.isKnown) await probeVersion(signal);
    exposure.launching(spec);
  }

  /** Runs a task within the launch timeout of the spec. A timeout means that the engine does not answer. */
  async function inTime<T>(spec: LaunchSpec, work: (late: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await turns.take(nameOf(owner, spec), spec.timeoutMs, work);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      throw toHubError(error, `launch ${spec.server}`, engine.address);
    }
  }

  /** Removes leftovers if the engine did not answer: its call may have created objects whose ids are unknown. */
  async function removeUnknown(error: unknown): Promise<never> {
    if (isUnheard(error) && (await tidying.now()) === 'unheard') tidying.owe();
    throw error;
  }

  return {
    kind: 'docker',
    upkeep: createUpkeep(parts, expose),
    exposure,
    pruning: parts.pruning,
    egress: parts.egress,
    async start(signal) {
      if (!(needs.isExpected?.() ?? true)) return;
      // Leftovers must be gone before new servers take their names.
      const begun = events.start().then(() => parts.tidied());
      await Promise.race([begun, sleep(beginMs, { clock: needs.clock, signal })]);
    },
    async stop() {
      await Promise.all(Array.from(instances, one => one.stop({ graceMs: stopGraceMs })));
      await parts.egress.stop();
      events.stop();
      await tidying.stop();
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
        await expose(spec, signal);
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
        // If the server is stopped now, its container will not be adopted and must be removed.
        if (isUnheard(error)) tidying.owe();
        throw error;
      }
    },
    async identify(spec) {
      return (await images.find(targetOf(spec).image))?.id;
    },
  };
}

/** Manages images and volumes of servers in containers, except pulled images and volumes of other hubs. */
function createUpkeep(
  { engine, images, users, owner }: DockerParts,
  expose: (spec: LaunchSpec, signal: AbortSignal) => Promise<void>,
): Upkeep {
  const isOurs = async (kind: Belonging['kind'], name: string) =>
    kind === 'image'
      ? (await engine.findImage(name))?.labels[managedLabel] === 'true'
      : (await engine.findVolume(name))?.labels[hubLabel] === owner.hubId;

  async function candidates(spec: LaunchSpec): Promise<readonly Belonging[]> {
    const target = targetOf(spec);
    const { image } = target;
    const present = await images.find(image);
    const volumes = [...target.volumes, ...(present ? declaredVolumes(spec, target, present) : [])];
    const isBuilt = !('reference' in image) || image.systemPackages !== undefined;
    const built = isBuilt ? [await images.referenceOf(image)] : [];
    return [
      ...built.map(name => ({ kind: 'image', name }) as const),
      ...volumes.map(volume => ({ kind: 'volume', name: volumeName(owner, volume) }) as const),
    ];
  }

  return {
    async prepare(spec, report, signal) {
      const target = targetOf(spec);
      const { image } = target;
      if (isBuilt(target)) await expose(spec, signal);
      const { reference, id } = await images.provide(image, text => report.progress(text), signal);
      const digest = (await engine.findImage(reference))?.digests[0];
      return { image: reference, image_id: id, ...(digest !== undefined && { digest }) };
    },
    candidates,
    async belongings(spec) {
      const found: Belonging[] = [];
      for (const one of await candidates(spec))
        if (await isOurs(one.kind, one.name)) found.push(one);
      return found;
    },
    async discard({ kind, name }) {
      const isImage = kind === 'image';
      try {
        if (await (isImage ? engine.findImage(name) : engine.findVolume(name))) {
          if (!(await isOurs(kind, name)))
            throw refused(`the ${kind} ${name} was not created by this hub, so it is not removed`);
          await (isImage ? users.remove(name) : engine.removeVolume(name));
        }
        if (isImage) await images.forget(name);
      } catch (error) {
        if (!isRefusal(error, 409)) throw error;
        throw refused(
          `the ${kind} ${name} is in use: ${error.words}. Remove its users first, then remove it (docker ${kind} rm ${name})`,
          error,
        );
      }
    },
  };
}

const refused = (message: string, cause?: unknown) =>
  new HubError('HUB_ENGINE_REFUSED', message, { cause });
