import { join } from 'node:path';
import { type Clock, HubError, within } from '#core';
import type { DockerTarget, PackageSource } from '#runtimes';
import type { Image } from '../container/options.ts';
import type { Bound, BuildLimits, Engine } from '../engine/engine.ts';
import { build } from './build.ts';
import { readBuildContext } from './build-context.ts';
import { type Locks, lockName } from './lock.ts';
import { baseOf, imageOf } from './package-image.ts';
import { missing, pull } from './pull.ts';
import { isPackageAbsent } from './registry.ts';
import { createSharedWork } from './shared-work.ts';
import type { ImageUsers } from './users.ts';

/** The images of servers. */
export interface Images {
  /**
   * Returns an image, and builds or pulls it first if it is missing. Concurrent callers share the work. Rejects with
   * HUB_IMAGE_MISSING, HUB_IMAGE_BUILD_FAILED or, if a retry may succeed, HUB_REGISTRY_UNREACHABLE; the message
   * contains the output of the engine or the installer. `findMs` is the timeout for looking up the image.
   */
  provide(
    wanted: DockerTarget['image'],
    progress: (text: string) => void,
    signal: AbortSignal,
    findMs?: number,
  ): Promise<Image>;
  /** Deletes the lock of a built image: the next build installs the newest versions. */
  forget(reference: string): Promise<void>;
  /** The reference of the image that `provide` would return. The image may be missing. */
  referenceOf(wanted: DockerTarget['image']): Promise<string>;
  /** Returns the image like `provide`, or undefined if it is missing. */
  find(wanted: DockerTarget['image']): Promise<Image | undefined>;
}

type Options = {
  readonly imagesDir: string;
  readonly buildTimeoutMs: number;
  readonly buildLimits: BuildLimits;
};
type Needs = {
  readonly engine: Pick<Engine, 'findImage' | 'pullImage' | 'buildImage'>;
  /** Records which hubs use a package image. Absent: not recorded. */
  readonly users?: Pick<ImageUsers, 'join'>;
  readonly clock: Clock;
  /** Absent: each build installs the newest versions. */
  readonly locks: Locks | undefined;
  /** Runs work with a network of its own. */
  readonly withNetwork: <T>(work: (network: string) => Promise<T>) => Promise<T>;
  /** Finds the package of the same name in another registry, in the notation of config entries. Never rejects. */
  readonly findElsewhere?: (
    source: PackageSource,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
};
type Progress = (text: string) => void;

const maxBuilds = 2;
const maxPulls = 4;

export function createImages(options: Options, needs: Needs): Images {
  const { engine, clock, users, locks, withNetwork, findElsewhere } = needs;
  const pulls = createSharedWork(maxPulls);
  const builds = createSharedWork(maxBuilds);

  const bounded = <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) =>
    within(options.buildTimeoutMs, { clock, signal }, work);

  const contextOf = async ({ ecosystem }: PackageSource, lock?: string) =>
    await readBuildContext(join(options.imagesDir, baseOf[ecosystem]), lock);

  async function fromReference(
    reference: string,
    progress: Progress,
    signal: AbortSignal,
    finding: Partial<Bound>,
  ) {
    const present = await engine.findImage(reference, finding);
    if (present) return { reference, ...present };
    progress(`pulling the image ${reference}`);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(ending, inTime => pull(engine, reference, tell, inTime));
    await pulls.join(reference, work, progress, signal);
    return await findMade(reference);
  }

  async function fromPackage(
    source: PackageSource,
    progress: Progress,
    signal: AbortSignal,
    finding: Partial<Bound>,
  ) {
    const image = imageOf(source, await contextOf(source));
    const reference = image.tag;
    const present = await engine.findImage(reference, finding);
    if (present) {
      await users?.join(reference, present.tags);
      return { reference, ...present };
    }
    progress(`building an image with ${source.spec}, once`);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(ending, inTime =>
        withNetwork(async network => {
          const lock = await locks?.read(lockName(reference));
          const context = await contextOf(source, lock);
          const limits = { ...options.buildLimits, network };
          const resolved = await build({ engine, context, image, limits }, tell, inTime);
          if (lock === undefined && resolved !== undefined)
            await locks?.write(lockName(reference), resolved);
        }),
      );
    try {
      await builds.join(reference, work, progress, signal);
    } catch (error) {
      throw await withHint(source, error, signal);
    }
    await users?.join(reference, []);
    return await findMade(reference);
  }

  /** Adds a hint if the package is missing in its registry but exists in the other one. */
  async function withHint(source: PackageSource, error: unknown, signal: AbortSignal) {
    const isAbsent =
      error instanceof HubError &&
      error.code === 'HUB_IMAGE_BUILD_FAILED' &&
      isPackageAbsent(error.message);
    const key = isAbsent ? await findElsewhere?.(source, signal) : undefined;
    if (!isAbsent || key === undefined) return error;
    const registry = source.ecosystem === 'npm' ? 'PyPI' : 'npm';
    return new HubError(
      error.code,
      `${error.message}\n${registry} has a package of that name: write "package": ${JSON.stringify(key)} if that is meant`,
      { cause: error, data: error.data },
    );
  }

  async function findMade(reference: string): Promise<Image> {
    const present = await engine.findImage(reference);
    if (!present) throw missing(reference, 'it was made, but is gone again');
    return { reference, ...present };
  }

  const referenceOf = async (image: DockerTarget['image']) =>
    'reference' in image
      ? image.reference
      : imageOf(image.package, await contextOf(image.package)).tag;

  return {
    referenceOf,
    forget: async reference => await locks?.remove(lockName(reference)),
    async find(image) {
      const reference = await referenceOf(image);
      const present = await engine.findImage(reference);
      return present && { reference, ...present };
    },
    provide(image, progress, signal, findMs) {
      const finding = findMs === undefined ? {} : { timeoutMs: findMs };
      return 'reference' in image
        ? fromReference(image.reference, progress, signal, finding)
        : fromPackage(image.package, progress, signal, finding);
    },
  };
}
