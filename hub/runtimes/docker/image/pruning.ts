import { HubError, messageOf } from '#core';
import type { BuiltImage, DockerTarget, ImagePruning } from '#runtimes';
import { baseLabel, hubLabel, managedLabel, packageLabel } from '../container/labels.ts';
import type { Engine } from '../engine/engine.ts';
import type { Images } from './images.ts';
import type { ImageUsers } from './users.ts';

type Needs = {
  readonly engine: Pick<Engine, 'listImages' | 'listContainers'>;
  readonly images: Pick<Images, 'referenceOf' | 'forget'>;
  readonly users: Pick<ImageUsers, 'ofThisHub' | 'othersOf' | 'remove'>;
  /** Returns the name of the forwarder's image, which is always needed. */
  readonly forwarder: () => Promise<string>;
  readonly hubId: string;
};

/** Creates functions that list and remove images which this hub marked as used. */
export function createImagePruning({
  engine,
  images,
  users,
  forwarder,
  hubId,
}: Needs): ImagePruning {
  /**
   * Returns the images that this hub marked as used and those of forwarders, except the ones in `needed` and the
   * current forwarder. Rejects with HubError if the engine does not list them.
   */
  async function findUnneeded(needed: readonly DockerTarget['image'][]) {
    const kept = new Set(await Promise.all([forwarder(), ...needed.map(images.referenceOf)]));
    const found = await engine.listImages(`${managedLabel}=true`);
    // Behind the broker, only the containers of this hub.
    const containers = await engine.listContainers(`${managedLabel}=true`);
    return found.flatMap(({ id, tags, labels, bytes }) => {
      const all = containers.filter(({ imageId }) => imageId === id);
      const own = all.find(container => container.labels[hubLabel] === hubId)?.name;
      const built = users.ofThisHub(tags).map(reference => ({ reference, container: own }));
      const ofForwarder = forwardersIn(tags, labels).map(reference => ({
        reference,
        container: all[0]?.name,
      }));
      return [...built, ...ofForwarder].flatMap(({ reference, container }) => {
        if (kept.has(reference) || labels[baseLabel] === undefined) return [];
        const about: BuiltImage = { reference, package: labels[packageLabel], bytes };
        return [{ ...about, container, others: users.othersOf(reference, tags) }];
      });
    });
  }

  return {
    async prune(needed, { isDry }) {
      const removed: BuiltImage[] = [];
      const left: (BuiltImage & { readonly why: string })[] = [];
      for (const { container, others, ...image } of await findUnneeded(needed)) {
        if (container !== undefined) {
          left.push({ ...image, why: `the container ${container} uses it` });
          continue;
        }
        if (others > 0 && isDry) {
          left.push({
            ...image,
            why: `${others} other ${others === 1 ? 'hub uses' : 'hubs use'} it`,
          });
          continue;
        }
        try {
          if (!isDry) {
            await users.remove(image.reference);
            await images.forget(image.reference);
          }
          removed.push(image);
        } catch (error) {
          if (!(error instanceof HubError)) throw error;
          left.push({ ...image, why: messageOf(error) });
        }
      }
      return { removed, left };
    },
  };
}

/** Returns the names of a forwarder's image. Hubs do not mark them: the engine keeps those that a container uses. */
const forwardersIn = (tags: readonly string[], labels: Readonly<Record<string, string>>) =>
  labels[baseLabel] === 'egress' ? tags.filter(tag => tag.startsWith('agenthub/egress:')) : [];
