import { HubError } from '#core';
import type { Belonging, LaunchSpec, Upkeep } from '#runtimes';
import type { Engine } from './engine/engine.ts';
import { isRefusal } from './engine/errors.ts';
import type { ImageUsers } from './image/users.ts';
import type { Images } from './image/images.ts';
import { hubLabel, managedLabel } from './container/labels.ts';
import { declaredVolumes } from './volumes/declared.ts';
import { targetOf } from './container/spec.ts';
import { type Owner, volumeName } from './container/options.ts';

type Needs = {
  readonly engine: Pick<Engine, 'findImage' | 'findVolume' | 'removeVolume'>;
  readonly users: Pick<ImageUsers, 'remove'>;
  readonly images: Images;
  readonly owner: Owner;
};

/**
 * Images and volumes of servers in containers. Pulled images and volumes of other hubs are not belongings of a server.
 */
export function createUpkeep({ engine, images, users, owner }: Needs): Upkeep {
  const isOurImage = async (reference: string) =>
    (await engine.findImage(reference))?.labels[managedLabel] === 'true';
  const isOurVolume = async (name: string) =>
    (await engine.findVolume(name))?.labels[hubLabel] === owner.hubId;

  async function candidates(spec: LaunchSpec): Promise<readonly Belonging[]> {
    const target = targetOf(spec);
    const { image } = target;
    const present = await images.find(image);
    const volumes = [...target.volumes, ...(present ? declaredVolumes(spec, target, present) : [])];
    const built = 'package' in image ? [await images.referenceOf(image)] : [];
    return [
      ...built.map(name => ({ kind: 'image', name }) as const),
      ...volumes.map(volume => ({ kind: 'volume', name: volumeName(owner, volume) }) as const),
    ];
  }

  return {
    async prepare(spec, report, signal) {
      const { image } = targetOf(spec);
      const { reference, id } = await images.provide(image, text => report.progress(text), signal);
      const digest = (await engine.findImage(reference))?.digests[0];
      return { image: reference, image_id: id, ...(digest !== undefined && { digest }) };
    },
    candidates,
    async belongings(spec) {
      const found: Belonging[] = [];
      for (const one of await candidates(spec))
        if (await (one.kind === 'image' ? isOurImage : isOurVolume)(one.name)) found.push(one);
      return found;
    },
    async discard({ kind, name }) {
      try {
        if (kind === 'image') {
          if (await engine.findImage(name)) await removeImage(name);
          await images.forget(name);
        } else if (await engine.findVolume(name)) await removeVolume(name);
      } catch (error) {
        throw isRefusal(error, 409) ? inUse(kind, name, error.words, error) : error;
      }
    },
  };

  async function removeImage(reference: string): Promise<void> {
    if (!(await isOurImage(reference))) throw foreign('image', reference);
    await users.remove(reference);
  }

  async function removeVolume(name: string): Promise<void> {
    if (!(await isOurVolume(name))) throw foreign('volume', name);
    await engine.removeVolume(name);
  }
}

function foreign(kind: Belonging['kind'], name: string): HubError {
  return new HubError(
    'HUB_ENGINE_REFUSED',
    `the ${kind} ${name} was not created by this hub, so it is not removed`,
  );
}

function inUse(kind: Belonging['kind'], name: string, words: string, cause: unknown): HubError {
  return new HubError(
    'HUB_ENGINE_REFUSED',
    `the ${kind} ${name} is in use: ${words}. Remove its users first, then remove it (docker ${kind} rm ${name})`,
    { cause },
  );
}
