import type { Clock, Log } from '#core';
import type { DockerTarget, Instance, LaunchEvents, LaunchSpec } from '#runtimes';
import type { Engine } from '../engine/engine.ts';
import type { EngineEvents } from '../engine/events.ts';
import type { Tidying } from '../leftovers/tidying.ts';
import type { VolumeBound } from '../volumes/bound.ts';
import type { Attachment } from './attach.ts';
import { createInstance } from './instance.ts';
import type { Names } from './names.ts';
import { type Image, type Owner, nameOf } from './options.ts';

/** A created container that an instance is made of. */
export type Container = {
  readonly id: string;
  readonly image: Image;
  readonly spec: LaunchSpec;
  /** The target of the spec, with the volumes of the image. */
  readonly target: DockerTarget;
  readonly attachment: Attachment;
  /** Removes everything that was created for the container. Resolves when the launch has succeeded. */
  readonly created: Promise<AsyncDisposable>;
};

/** Supervises a container until it exits, then removes it, unless it may still be running. */
export type Run = (container: Container, report: LaunchEvents) => Instance;

type Needs = {
  readonly engine: Engine;
  readonly events: EngineEvents;
  readonly clock: Clock;
  readonly log: Log;
  readonly owner: Owner;
  readonly names: Pick<Names, 'leave'>;
  readonly tidying: Pick<Tidying, 'owe'>;
  readonly volumeBound: Pick<VolumeBound, 'watch'>;
};

/** `instances` holds the instances that have not exited. */
export function createRun(instances: Set<Instance>, needs: Needs): Run {
  const { owner, names, tidying, volumeBound } = needs;
  return ({ id, image, spec, target, attachment, created }, report) => {
    const name = nameOf(owner, spec);
    const isAdoptable = spec.digest !== undefined;
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
        async release({ isLost, isUnheard }) {
          const made = await created;
          instances.delete(instance);
          if (!isUnheard && !(isLost && isAdoptable)) return await made[Symbol.asyncDispose]();
          // Removed later, when the engine answers and no adoption is pending.
          names.leave(name);
          tidying.owe();
        },
      },
      { ...needs, report },
    );
    instances.add(instance);
    return instance;
  };
}
