import type { PackageSpec } from '#config';
import { type Clock, DeadlineExceeded, HubError, within } from '#core';
import type { ImageSource } from '#runtimes';
import type { Image } from '../container/options.ts';
import type { Engine } from '../engine/engine.ts';
import type { BuildLimits } from '../engine/images.ts';
import { type BuildStep, type ImagePlan, createImagePlans } from './image-plan.ts';
import { type Locks, lockName } from './lock.ts';
import { build, isPackageAbsent, missing, pull } from './make.ts';
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
  /** Runs a task with a temporary network. */
  readonly withNetwork: <T>(work: (network: string) => Promise<T>) => Promise<T>;
  /** Finds a package of the same name in the other registry, in the notation of config entries. Never rejects. */
  readonly findElsewhere?:
    | ((source: PackageSpec, signal: AbortSignal) => Promise<string | undefined>)
    | undefined;
};

/** Timeout in ms for building or pulling an image. */
export const buildTimeoutMs = 15 * 60_000;
const inTimeLimit = `within ${buildTimeoutMs / 60_000} minutes`;
const maxBuilds = 2;
const maxPulls = 4;
/** Maximum number of pulls and builds for one image. */
const maxSteps = 4;

/** Finds, builds and pulls the images of servers. */
export type Images = ReturnType<typeof createImages>;

export function createImages(options: Options, needs: ImageNeeds) {
  const { engine, clock, users, locks, withNetwork, findElsewhere } = needs;
  const pulls = createSharedWork(maxPulls);
  const builds = createSharedWork(maxBuilds);
  const planOf = createImagePlans({ imagesDir: options.imagesDir, engine });

  /** Runs a pull or a build within its timeout. After it, rejects with the error of `late`. */
  async function bounded(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<void>,
    late: () => HubError,
  ): Promise<void> {
    try {
      await within(buildTimeoutMs, { clock, signal }, work);
    } catch (error) {
      throw error instanceof DeadlineExceeded ? late() : error;
    }
  }

  async function pullShared(reference: string, progress: Progress, signal: AbortSignal) {
    progress(`pulling the image ${reference}`);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(
        ending,
        inTime => pull(engine, reference, tell, inTime),
        () =>
          new HubError(
            'HUB_REGISTRY_UNREACHABLE',
            `the image ${reference} was not pulled ${inTimeLimit}. Check the network, or bring it there (docker pull ${reference})`,
            { data: { retryable: true } },
          ),
      );
    await pulls.join(reference, work, progress, signal);
  }

  async function buildShared(
    { image, begins, open }: BuildStep,
    progress: Progress,
    signal: AbortSignal,
  ) {
    progress(begins);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(
        ending,
        inTime =>
          withNetwork(async network => {
            const { lock: name, pack, isLockReused = false } = await open(tell);
            const lock = name !== undefined && isLockReused ? await locks?.read(name) : undefined;
            const context = await pack(lock);
            const limits = { ...options.buildLimits, network };
            // A step with a cached result prints no lock, and does not install the newest versions.
            const isUncached = name !== undefined && lock === undefined;
            const built = { ...image, ...(isUncached && { isUncached }) };
            const resolved = await build({ engine, context, image: built, limits }, tell, inTime);
            if (name !== undefined && isUncached && resolved !== undefined)
              await locks?.write(name, resolved);
          }),
        () =>
          new HubError(
            'HUB_IMAGE_BUILD_FAILED',
            `the image for ${image.package ?? image.tag} was not built ${inTimeLimit}. Its output in the log shows the slow step`,
          ),
      );
    await builds.join(image.tag, work, progress, signal);
  }

  /** Performs the next missing pull or build of a plan. Rejects with HubError. */
  async function advance(
    { pulled, steps }: ImagePlan,
    wanted: ImageSource,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<void> {
    if (pulled !== undefined && !(await engine.findImage(pulled)))
      return await pullShared(pulled, progress, signal);
    for (const step of steps) {
      if (await engine.findImage(step.image.tag)) continue;
      try {
        return await buildShared(step, progress, signal);
      } catch (error) {
        throw 'package' in wanted ? await withHint(wanted.package, error, signal) : error;
      }
    }
  }

  /** Returns the error, with a hint if the package is missing in its registry but exists in the other one. */
  async function withHint(source: PackageSpec, error: unknown, signal: AbortSignal) {
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

  /** Returns the reference of the image that `provide` would return. The image may not exist yet. */
  const referenceOf = async (wanted: ImageSource): Promise<string> =>
    (await planOf(wanted)).reference;

  return {
    referenceOf,
    /** Deletes the lock of a built image, so that the next build installs the newest versions. */
    forget: async (reference: string) => await locks?.remove(lockName(reference)),
    /** Returns the image like `provide`, or undefined if it is missing. */
    async find(wanted: ImageSource): Promise<Image | undefined> {
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
      wanted: ImageSource,
      progress: Progress,
      signal: AbortSignal,
      findMs?: number,
    ): Promise<Image> {
      let plan = await planOf(wanted);
      let found = await engine.findImage(plan.reference, { timeoutMs: findMs });
      // A step may change the plan: the id of a base image is only known once the image exists.
      for (let left = maxSteps; !found && left > 0; left--) {
        await advance(plan, wanted, progress, signal);
        plan = await planOf(wanted);
        found = await engine.findImage(plan.reference);
      }
      const { reference } = plan;
      if (!found) throw missing(reference, 'it was made, but is gone again');
      if (plan.steps.length > 0) await users?.join(reference, found.tags);
      return { reference, ...found };
    },
  };
}
