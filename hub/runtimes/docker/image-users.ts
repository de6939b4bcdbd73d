import { createHash } from 'node:crypto';
import { HubError } from '#core';
import type { Engine } from './engine.ts';
import type { Owner } from './options.ts';

type Needs = {
  readonly engine: Pick<Engine, 'findImage' | 'tagImage' | 'removeImage'>;
  readonly owner: Pick<Owner, 'hubId'>;
};

/**
 * Which hubs use an image of a package. All hubs of an engine share these images, and one whose server is stopped has
 * no container that would hold its image. Each hub therefore gives those that it uses a tag of its own.
 */
export interface ImageUsers {
  /** Notes that this hub uses the image, which has these tags. Never rejects. */
  join(reference: string, tags: readonly string[]): Promise<void>;
  /**
   * Removes the image, unless another hub uses it: throws HUB_ENGINE_REFUSED then, and the image is no longer
   * noted as this hub's.
   */
  remove(reference: string): Promise<void>;
}

const mark = /\.h-[0-9a-f]{12}$/;

/** Notes the users of images as tags of the images. */
export function createImageUsers({ engine, owner }: Needs): ImageUsers {
  const hub = createHash('sha256').update(owner.hubId).digest('hex').slice(0, 12);
  const ownMark = (reference: string) => `${reference}.h-${hub}`;

  return {
    async join(reference, tags) {
      const wanted = ownMark(reference);
      if (tags.includes(wanted)) return;
      const colon = wanted.lastIndexOf(':');
      await engine
        .tagImage(reference, wanted.slice(0, colon), wanted.slice(colon + 1))
        // The server runs all the same; at worst another hub removes its image later, and it is built again.
        .catch(() => undefined);
    },
    async remove(reference) {
      const own = ownMark(reference);
      const tags = (await engine.findImage(reference))?.tags ?? [];
      const others = tags.filter(
        tag => tag !== own && tag.startsWith(reference) && mark.test(tag),
      ).length;
      if (tags.includes(own)) await engine.removeImage(own);
      if (others > 0)
        throw new HubError(
          'HUB_ENGINE_REFUSED',
          `the image ${reference} is kept, as ${others === 1 ? 'another hub uses' : `${others} other hubs use`} it. To remove it all the same: docker image rm -f $(docker image inspect -f '{{.Id}}' ${reference})`,
        );
      await engine.removeImage(reference);
    },
  };
}
