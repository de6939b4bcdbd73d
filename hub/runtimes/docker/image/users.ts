import { hash } from 'node:crypto';
import { HubError } from '#core';
import type { ContainerOwner } from '../container/labels.ts';
import type { Engine } from '../engine/engine.ts';

type Needs = {
  readonly engine: Pick<Engine, 'findImage' | 'tagImage' | 'removeImage'>;
  readonly owner: Pick<ContainerOwner, 'hubId'>;
};

const mark = /\.h-[0-9a-f]{12}$/;

/**
 * Records which hubs use the image of a package: each hub adds a tag of its own. All hubs of an engine share these
 * images, and no container of a stopped server protects its image.
 */
export type ImageUsers = ReturnType<typeof createImageUsers>;

export function createImageUsers({ engine, owner }: Needs) {
  const hub = hash('sha256', owner.hubId).slice(0, 12);
  const ownMark = (reference: string) => `${reference}.h-${hub}`;

  const othersOf = (reference: string, tags: readonly string[]) =>
    tags.filter(tag => tag !== ownMark(reference) && tag.startsWith(reference) && mark.test(tag))
      .length;

  return {
    /** Returns the number of other hubs that use the image. */
    othersOf,
    /** Returns the images among these tags that this hub has recorded as used. */
    ofThisHub: (tags: readonly string[]): readonly string[] =>
      tags.filter(tag => tags.includes(ownMark(tag))),
    /** Records that this hub uses the image. `tags` are its current tags. Never rejects. */
    async join(reference: string, tags: readonly string[]): Promise<void> {
      const wanted = ownMark(reference);
      if (tags.includes(wanted)) return;
      const colon = wanted.lastIndexOf(':');
      const [repository, tag] = [wanted.slice(0, colon), wanted.slice(colon + 1)];
      await engine.tagImage(reference, repository, tag).catch(() => undefined); // At worst, another hub removes the image and it is built again.
    },
    /** Removes the image. If another hub uses it, removes only this hub's tag and rejects with HUB_ENGINE_REFUSED. */
    async remove(reference: string): Promise<void> {
      const own = ownMark(reference);
      const tags = (await engine.findImage(reference))?.tags ?? [];
      const others = othersOf(reference, tags);
      if (tags.includes(own)) await engine.removeImage(own);
      if (others > 0)
        throw new HubError(
          'HUB_ENGINE_REFUSED',
          `the image ${reference} is kept because ${others === 1 ? 'another hub uses' : `${others} other hubs use`} it. To remove it anyway: docker image rm -f $(docker image inspect -f '{{.Id}}' ${reference})`,
        );
      await engine.removeImage(reference);
    },
  };
}
