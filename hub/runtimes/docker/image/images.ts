import { join } from 'node:path';
import { type Clock, HubError, within } from '#core';
import type { DockerTarget, PackageSource } from '#runtimes';
import type { Image } from '../container/options.ts';
import type { Engine } from '../engine/engine.ts';
import type { BuildLimits, BuildOptions } from '../engine/images.ts';
import { readBuildContext, stateOfFolder } from './build-context.ts';
import { type Locks, lockName } from './lock.ts';
import { build, isPackageAbsent, missing, pull } from './make.ts';
import { ecosystems, imageOf, ownImageOf } from './package-image.ts';
import { type Progress, createSharedWork } from './shared-work.ts';
import type { ImageUsers } from './users.ts';

type Options = { readonly imagesDir: string; readonly buildLimits: BuildLimits };
export type ImageNeeds = {
  readonly engine: Pick<Engine, 'findImage' | 'pullImage' | 'buildImage'>;
  /** Records which hubs use a package image. Absent: not recorded. */
  readonly users?: Pick<ImageUsers, 'join'>;
  readonly clock: Clock;
  /** Stores the resolved dependencies of packages. Absent: each build installs the newest versions. */
  readonly locks?: Locks | undefined;
  /** Runs work with a network of its own. */
  readonly withNetwork: <T>(work: (network: string) => Promise<T>) => Promise<T>;
  /** Finds the package of the same name in another registry, in the notation of config entries. Never rejects. */
  readonly findElsewhere?:
    ((source: PackageSource, signal: AbortSignal) => Promise<string | undefined>) | undefined;
};

/** Timeout in ms for building or pulling an image. */
const buildTimeoutMs = 15 * 60_000;
const maxBuilds = 2;
const maxPulls = 4;

/** The images of servers. */
export type Images = ReturnType<typeof createImages>;

export function createImages(options: Options, needs: ImageNeeds) {
  const { engine, clock, users, locks, withNetwork, findElsewhere } = needs;
  const pulls = createSharedWork(maxPulls);
  const builds = createSharedWork(maxBuilds);

  const bounded = (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) =>
    within(buildTimeoutMs, { clock, signal }, work);

  const contextOf = ({ ecosystem }: PackageSource, lock?: string) =>
    readBuildContext(join(options.imagesDir, ecosystems[ecosystem].base), lock);

  const builtImage = async (source: PackageSource) => imageOf(source, await contextOf(source));

  async function pullShared(reference: string, progress: Progress, signal: AbortSignal) {
    progress(`pulling the image ${reference}`);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(ending, inTime => pull(engine, reference, tell, inTime));
    await pulls.join(reference, work, progress, signal);
  }

  async function buildShared(source: PackageSource, progress: Progress, signal: AbortSignal) {
    const image = await builtImage(source);
    const name = lockName(image.tag);
    progress(`building an image with ${source.spec}, once`);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(ending, inTime =>
        withNetwork(async network => {
          const lock = await locks?.read(name);
          const context = await contextOf(source, lock);
          const limits = { ...options.buildLimits, network };
          const resolved = await build({ engine, context, image, limits }, tell, inTime);
          if (lock === undefined && resolved !== undefined) await locks?.write(name, resolved);
        }),
      );
    try {
      await builds.join(image.tag, work, progress, signal);
    } catch (error) {
      throw await withHint(source, error, signal);
    }
  }

  /** Adds a hint if the package is missing in its registry but exists in the other one. */
  async function withHint(source: PackageSource, error: unknown, signal: AbortSignal) {
    if (!(error instanceof HubError) || !isPackageAbsent(error)) return error;
    const key = await findElsewhere?.(source, signal);
    if (key === undefined) return error;
    const registry = source.ecosystem === 'npm' ? 'PyPI' : 'npm';
    return new HubError(
      error.code,
      `${error.message}\n${registry} has a package of that name: write "package": ${JSON.stringify(key)} if that is meant`,
      { cause: error, data: error.data },
    );
  }

  async function buildOwn(
    wanted: string,
    image: BuildOptions,
    progress: Progress,
    signal: AbortSignal,
  ) {
    progress(`building the image agenthub/${wanted}, once`);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(ending, inTime =>
        withNetwork(async network => {
          const context = await readBuildContext(join(options.imagesDir, wanted));
          const limits = { ...options.buildLimits, network };
          await build({ engine, context, image, limits }, tell, inTime);
        }),
      );
    await builds.join(image.tag, work, progress, signal);
  }

  const ownImage = async (wanted: string) =>
    ownImageOf(wanted, await readBuildContext(join(options.imagesDir, wanted)));

  /** Tags of own images, with the state of the files that they were computed from. */
  const ownTags = new Map<string, { readonly state: string; readonly tag: string }>();

  /** The tag of an own image. The files are read again only if they have changed, as this takes milliseconds. */
  async function ownTag(wanted: string): Promise<string> {
    const state = await stateOfFolder(join(options.imagesDir, wanted));
    const known = ownTags.get(wanted);
    if (known?.state === state) return known.tag;
    const { tag } = await ownImage(wanted);
    ownTags.set(wanted, { state, tag });
    return tag;
  }

  /** The reference of the image that `provide` would return. The image may be missing. */
  async function referenceOf(wanted: DockerTarget['image']): Promise<string> {
    if ('reference' in wanted) return wanted.reference;
    return 'context' in wanted
      ? await ownTag(wanted.context)
      : (await builtImage(wanted.package)).tag;
  }

  return {
    referenceOf,
    /** Deletes the lock of a built image: the next build installs the newest versions. */
    forget: async (reference: string) => await locks?.remove(lockName(reference)),
    /** Returns the image like `provide`, or undefined if it is missing. */
    async find(wanted: DockerTarget['image']): Promise<Image | undefined> {
      const reference = await referenceOf(wanted);
      const present = await engine.findImage(reference);
      return present && { reference, ...present };
    },
    /**
     * Returns an image, and builds or pulls it first if it is missing. Concurrent callers share the work. Rejects with
     * HUB_IMAGE_MISSING, HUB_IMAGE_BUILD_FAILED or, if a retry may succeed, HUB_REGISTRY_UNREACHABLE; the message
     * contains the output of the engine or the installer. `findMs` is the timeout for looking up the image.
     */
    async provide(
      wanted: DockerTarget['image'],
      progress: Progress,
      signal: AbortSignal,
      findMs?: number,
    ): Promise<Image> {
      const reference = await referenceOf(wanted);
      const present = await engine.findImage(reference, { timeoutMs: findMs });
      if ('package' in wanted) {
        if (!present) await buildShared(wanted.package, progress, signal);
        await users?.join(reference, present?.tags ?? []);
      } else if ('context' in wanted) {
        if (!present)
          await buildOwn(wanted.context, await ownImage(wanted.context), progress, signal);
        await users?.join(reference, present?.tags ?? []);
      } else if (!present) await pullShared(reference, progress, signal);
      const image = present ?? (await engine.findImage(reference));
      if (!image) throw missing(reference, 'it was made, but is gone again');
      return { reference, ...image };
    },
  };
}
