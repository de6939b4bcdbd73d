import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type Clock, HubError, isObject, within } from '#core';
import type { DockerTarget, PackageSource } from '#runtimes';
import { readBuildContext } from './build-context.ts';
import type { Bound, BuildLimits, BuildOptions, Engine } from './engine.ts';
import { EngineError } from './engine-error.ts';
import { jsonLines } from './json-lines.ts';
import { type Locks, createBuildOutput, lockName } from './lock.ts';
import type { ImageUsers } from './image-users.ts';
import type { Image } from './options.ts';
import { baseOf, imageOf } from './package-image.ts';
import { isEngineCutOff, isInstallerCutOff, isPackageAbsent } from './registry.ts';
import { createSharedWork } from './shared-work.ts';

/** Where the images of servers come from. */
export interface Images {
  /**
   * An image that is there, built or pulled if need be, which is done once for all who ask at the
   * same time. Throws HUB_IMAGE_MISSING, HUB_IMAGE_BUILD_FAILED or, where another try may succeed,
   * HUB_REGISTRY_UNREACHABLE, with the words of the engine or the installer. `findMs` is how long the engine
   * may take to say whether it is there.
   */
  provide(
    wanted: DockerTarget['image'],
    progress: (text: string) => void,
    signal: AbortSignal,
    findMs?: number,
  ): Promise<Image>;
  /** Forgets what the package of a built image was resolved to: the next build takes what is newest then. */
  forget(reference: string): Promise<void>;
  /** What `provide` calls its image, whether it is there or not. */
  referenceOf(wanted: DockerTarget['image']): Promise<string>;
  /** The image that `provide` would give without making any; undefined where it would. */
  find(wanted: DockerTarget['image']): Promise<Image | undefined>;
}

type Options = {
  readonly imagesDir: string;
  readonly buildTimeoutMs: number;
  readonly buildLimits: BuildLimits;
};
type Needs = {
  readonly engine: Pick<Engine, 'findImage' | 'pullImage' | 'buildImage'>;
  /** Notes which hubs use the images of packages. Absent: nobody does. */
  readonly users?: Pick<ImageUsers, 'join'>;
  readonly clock: Clock;
  /** Absent: each build resolves its package anew. */
  readonly locks: Locks | undefined;
  /** Gives work a network that nothing else is on, for as long as it takes. */
  readonly withNetwork: <T>(work: (network: string) => Promise<T>) => Promise<T>;
  /** The package of the same name in another registry, as entries name it. Never rejects. */
  readonly findElsewhere?: (
    source: PackageSource,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
};
type Progress = (text: string) => void;

const maxBuilds = 2;
const maxPulls = 4;
/** How much of a failed build's output is shown: its end, where installers say why. */
const shownLines = 20;
const shownCharacters = 3000;

/** Images by reference, and of packages. */
export function createImages(
  options: Options,
  { engine, clock, users, locks, withNetwork, findElsewhere }: Needs,
): Images {
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
      bounded(ending, inTime => pull(reference, tell, inTime));
    await pulls.join(reference, work, progress, signal);
    return await afterwards(reference);
  }

  async function pull(reference: string, progress: Progress, signal: AbortSignal): Promise<void> {
    const [name, tag] = splitReference(reference);
    try {
      for await (const line of jsonLines(await engine.pullImage(name, tag, signal))) {
        if (typeof line['error'] === 'string') throw missing(reference, line['error']);
        // Lines with a count of bytes come many times a second.
        if (typeof line['status'] === 'string' && !isObject(line['progressDetail']))
          progress(line['status']);
      }
    } catch (error) {
      throw error instanceof EngineError ? missing(reference, error.words, error) : error;
    }
  }

  async function fromPackage(
    source: PackageSource,
    progress: Progress,
    signal: AbortSignal,
    finding: Partial<Bound>,
  ) {
    const context = await contextOf(source);
    const build = imageOf(source, context);
    const present = await engine.findImage(build.tag, finding);
    if (present) {
      await users?.join(build.tag, present.tags);
      return { reference: build.tag, ...present };
    }
    progress(`building an image with ${source.spec}, once`);
    const work = (tell: Progress, ending: AbortSignal) =>
      bounded(ending, inTime => withNetwork(network => run(source, build, network, tell, inTime)));
    try {
      await builds.join(build.tag, work, progress, signal);
    } catch (error) {
      throw await withHint(source, error, signal);
    }
    await users?.join(build.tag, []);
    return await afterwards(build.tag);
  }

  /** A package that its registry does not have may be one of the other. */
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

  async function run(
    source: PackageSource,
    build: BuildOptions,
    network: string,
    progress: Progress,
    signal: AbortSignal,
  ) {
    const lock = await locks?.read(lockName(build.tag));
    const context = await contextOf(source, lock);
    const bounds = { ...options.buildLimits, network };
    const output = createBuildOutput();
    const shown: string[] = [];
    const show = (lines: readonly string[]) => {
      for (const text of lines.flatMap(textOf)) {
        shown.push(text);
        if (shown.length > shownLines) shown.shift();
        progress(text);
      }
    };
    try {
      for await (const line of jsonLines(await engine.buildImage(context, build, bounds, signal))) {
        if (typeof line['stream'] === 'string') show(output.push(line['stream']));
        if (typeof line['error'] !== 'string') continue;
        show(output.end());
        throw failed(build, shown, line['error']);
      }
    } catch (error) {
      throw error instanceof EngineError ? failed(build, shown, error.words, error) : error;
    }
    const resolved = lock === undefined ? output.lock() : undefined;
    if (resolved !== undefined) await locks?.write(lockName(build.tag), resolved);
  }

  async function afterwards(reference: string): Promise<Image> {
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

/** The builder's own bookkeeping, of which an operator learns nothing. */
const bookkeeping =
  /^( ---> |Step \d+\/\d+ : |Removing intermediate |Successfully (built|tagged) )/;

/** What is there to read in a line of the build's output. */
function textOf(line: string): readonly string[] {
  const text = stripVTControlCharacters(line).trimEnd();
  return text === '' || bookkeeping.test(text) ? [] : [text];
}

/** Without a tag the engine would pull every tag there is. */
function splitReference(reference: string): readonly [name: string, tag: string] {
  const [name = reference, digest] = reference.split('@');
  if (digest !== undefined) return [name, digest];
  const colon = reference.lastIndexOf(':');
  return colon > reference.lastIndexOf('/')
    ? [reference.slice(0, colon), reference.slice(colon + 1)]
    : [reference, 'latest'];
}

function missing(reference: string, words: string, cause?: unknown): HubError {
  const image = `the image ${reference} is not on this engine`;
  return isEngineCutOff(words)
    ? new HubError(
        'HUB_REGISTRY_UNREACHABLE',
        `${image}, and its registry cannot be reached: ${words}. ` +
          `Check the network and the name, or bring it there (docker pull ${reference})`,
        { cause, data: { retryable: true } },
      )
    : new HubError(
        'HUB_IMAGE_MISSING',
        `${image} and could not be pulled: ${words}. ` +
          `Check its name, or bring it there (docker pull ${reference})`,
        { cause },
      );
}

function failed(
  build: BuildOptions,
  output: readonly string[],
  words: string,
  cause?: unknown,
): HubError {
  // The builder only repeats the command that failed; the command itself said why.
  const isStep = words.includes('returned a non-zero code') && output.length > 0;
  const why = isStep ? output.join('\n').slice(-shownCharacters) : words;
  return (isStep ? isInstallerCutOff(why) : isEngineCutOff(words))
    ? new HubError(
        'HUB_REGISTRY_UNREACHABLE',
        `the image for ${build.package} could not be built, as a registry cannot be reached:\n${why}`,
        { cause, data: { retryable: true } },
      )
    : new HubError(
        'HUB_IMAGE_BUILD_FAILED',
        `the image for ${build.package} could not be built:\n${why}`,
        { cause },
      );
}
