import { HubError } from '#core';
import type { Belonging, LaunchSpec, Upkeep } from '#runtimes';
import { hubLabel, managedLabel } from './container/labels.ts';
import { targetOf } from './container/launch.ts';
import { volumeName } from './container/options.ts';
import { isRefusal } from './engine/errors.ts';
import type { Parts } from './parts.ts';
import { declaredVolumes } from './volumes/declared.ts';

/** Images and volumes of servers in containers, except pulled images and volumes of other hubs. */
export function createUpkeep({ engine, images, users, owner }: Parts): Upkeep {
  const isOurs = async (kind: Belonging['kind'], name: string) =>
    kind === 'image'
      ? (await engine.findImage(name))?.labels[managedLabel] === 'true'
      : (await engine.findVolume(name))?.labels[hubLabel] === owner.hubId;

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
