import { hash } from 'node:crypto';
import { posix } from 'node:path';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import { type CreateNeeds, createContainer } from '../container/create.ts';
import { instanceLabel } from '../container/labels.ts';
import {
  type Image,
  createOptions,
  nameOf,
  temporarySpec,
  volumeName,
} from '../container/options.ts';

type Volume = DockerTarget['volumes'][number];

/** Replacements of the folders that an image declares with `VOLUME`. */
type Places = {
  /** Folders that are empty in the image. Each is replaced by a tmpfs. */
  readonly scratch: readonly string[];
  /**
   * Folders with content in the image. Each is replaced by a named volume, into which the engine copies the content.
   */
  readonly volumes: readonly Volume[];
};

/** A temporary container, which is never started, and its volumes. */
type Look = { readonly id: string; readonly volumes?: readonly string[] };

export type ImageVolumes = ReturnType<typeof createImageVolumes>;

/** Instance name of the temporary container. Does not collide with the numbered instances of sessions. */
const lookInstance = 'volumes';

/**
 * Replaces the anonymous volumes of images, which have no size limit. To find the empty folders, it creates a container
 * once per image: the engine copies the folders into volumes, which are then measured.
 */
export function createImageVolumes(needs: CreateNeeds) {
  const { engine, owner } = needs;
  /**
   * Results by image and volumes. Concurrent launches share them, as the temporary containers of a server have the same
   * name.
   */
  const known = new Map<string, Promise<Places>>();
  /** Names of the temporary containers of this run. */
  const looking = new Set<string>();

  async function look(
    spec: LaunchSpec,
    target: DockerTarget,
    image: Image,
    volumes: readonly Volume[],
  ): Promise<Places> {
    const engineName = (volume: Volume) => volumeName(owner, volume);
    const full = new Set<Volume>();
    await Promise.all(
      volumes.map(async volume => {
        if (await engine.findVolume(engineName(volume))) full.add(volume);
      }),
    );
    const unknown = volumes.filter(volume => !full.has(volume));
    if (unknown.length > 0) {
      const looked = temporarySpec(spec.server, lookInstance, target);
      const bare = { ...target, network: 'none', mounts: [], volumes: unknown } as const;
      const body = createOptions(owner, looked, bare, image);
      const name = nameOf(owner, looked);
      looking.add(name);
      try {
        // The container is never started.
        const id = await createContainer(name, body, looked, needs);
        try {
          const sizes = await engine.volumeSizes();
          for (const volume of unknown) if (sizes.get(engineName(volume))) full.add(volume);
        } finally {
          await engine.removeContainer(id);
          for (const volume of unknown)
            if (!full.has(volume)) await engine.removeVolume(engineName(volume));
        }
      } finally {
        looking.delete(name);
      }
    }
    const scratch = volumes.filter(volume => !full.has(volume)).map(volume => volume.target);
    return { scratch, volumes: volumes.filter(volume => full.has(volume)) };
  }

  return {
    isLooking: (name: string) => looking.has(name),
    /** True for the labels of a temporary container. */
    isLook: ({ labels }: { readonly labels: Readonly<Record<string, string>> }): boolean =>
      labels[instanceLabel] === lookInstance,
    /**
     * Removes the temporary container of a killed run, and those of its volumes that are empty, as no server gets them.
     */
    async discardLook({ id, volumes = [] }: Look): Promise<void> {
      await engine.removeContainer(id);
      const sizes = await engine.volumeSizes();
      for (const name of volumes) if (sizes.get(name) === 0) await engine.removeVolume(name);
    },
    /**
     * Decides which declared folders get a tmpfs and which a volume, except those that the config entry mounts. Rejects
     * with HubError.
     */
    async placesOf(spec: LaunchSpec, target: DockerTarget, image: Image): Promise<Places> {
      const volumes = declaredVolumes(spec, target, image);
      if (volumes.length === 0) return { scratch: [], volumes: [] };
      const key = JSON.stringify([image.id, volumes]);
      const found = known.get(key) ?? look(spec, target, image, volumes);
      known.set(key, found);
      try {
        return await found;
      } catch (error) {
        known.delete(key);
        throw error;
      }
    },
  };
}

/** Returns a volume for each declared folder that the config entry does not mount. */
export function declaredVolumes(
  { server }: Pick<LaunchSpec, 'server'>,
  { mounts, volumes }: Pick<DockerTarget, 'mounts' | 'volumes'>,
  image: Pick<Image, 'volumes'>,
): readonly Volume[] {
  const taken = new Set([...mounts, ...volumes].map(mount => mount.target));
  // Normalized: for a path with a trailing slash, the engine would create a volume of its own.
  const declared = new Set(image.volumes.map(path => posix.resolve('/', path)));
  return [...declared]
    .filter(path => !taken.has(path))
    .map(path => ({ name: `${server}.${nameIn(path)}`, target: path }));
}

/** Returns a readable name for a path, made unique by a part of its digest. */
function nameIn(path: string): string {
  const readable = path.slice(1).replaceAll(/[^a-zA-Z0-9_-]+/g, '-');
  return `${readable.slice(0, 40)}-${hash('sha256', path).slice(0, 6)}`;
}
