import { join } from 'node:path';
import type { PackageSpec } from '#config';
import { type TarFile, packFiles, readContext } from '#contexts';
import { HubError } from '#core';
import { type BuildSource, type ImageSource, whyNotBuilt } from '#runtimes';
import type { Engine } from '../engine/engine.ts';
import type { BuildOptions } from '../engine/images.ts';
import { readBuildContext, readTemplateFiles, stateOfFolder } from './build-context.ts';
import {
  baseOfTemplate,
  projectImageOf,
  projectTemplates,
  systemImageOf,
  systemTemplate,
} from './derived-images.ts';
import { lockName } from './lock.ts';
import { ecosystems, imageOf, ownImageOf } from './package-image.ts';
import { layProject, projectLockName } from './project-files.ts';

/** A build of one image: the image of a server, or one that it is based on. */
export type BuildStep = {
  readonly image: BuildOptions;
  /** Text for the log when the build begins. */
  readonly begins: string;
  /** Reads the files to build from. Rejects with HubError. */
  readonly open: (tell: (text: string) => void) => Promise<BuildInput>;
};

type BuildInput = {
  /** Name under which the lock of the build is stored. Absent: the build has no lock. */
  readonly lock?: string;
  /** Packs the files, with the lock of an earlier build. Without `isLockReused`, the lock is stored but not used. */
  readonly pack: (lock?: string) => Promise<Buffer>;
  readonly isLockReused?: boolean;
};

/** Steps to get an image: a pull, builds, or both. */
export type ImagePlan = {
  /** Name of the image, which may not exist yet. */
  readonly reference: string;
  /** An image to pull first, if it is missing. */
  readonly pulled?: string;
  /** Builds in order. Those whose image exists are skipped. */
  readonly steps: readonly BuildStep[];
};

type Needs = { readonly imagesDir: string; readonly engine: Pick<Engine, 'findImage'> };

/** Creates a function that determines which images are built for a server. The function rejects with HubError. */
export function createImagePlans({ imagesDir, engine }: Needs) {
  const template = (name: string, lock?: string) => readBuildContext(join(imagesDir, name), lock);

  /** Tags of the hub's own images, with the state of the files from which they were computed. */
  const ownTags = new Map<string, { readonly state: string; readonly image: BuildOptions }>();

  /**
   * Returns an image of the hub's own. Its files are read again only if they have changed, as this takes milliseconds.
   */
  async function ownImage(name: string): Promise<BuildOptions> {
    const state = await stateOfFolder(join(imagesDir, name));
    const known = ownTags.get(name);
    if (known?.state === state) return known.image;
    const image = ownImageOf(name, await template(name));
    ownTags.set(name, { state, image });
    return image;
  }

  async function ownPlan(name: string): Promise<ImagePlan> {
    const image = await ownImage(name);
    const begins = `building the image agenthub/${name}, once`;
    const open: BuildStep['open'] = async () => {
      const fault = whyNotBuilt(imagesDir, name);
      if (fault !== undefined) throw new HubError('HUB_IMAGE_BUILD_FAILED', fault);
      return { pack: () => template(name) };
    };
    return { reference: image.tag, steps: [{ image, begins, open }] };
  }

  /** Returns the step that installs Debian packages on top of an image. */
  async function systemStep(
    base: Parameters<typeof systemImageOf>[0],
    packages: readonly string[],
  ): Promise<BuildStep> {
    const image = systemImageOf(base, packages, await template(systemTemplate));
    const names = packages.join(', ');
    return {
      image,
      begins: `installing the system packages ${names}, once`,
      open: async () => ({ lock: lockName(image.tag), pack: () => template(systemTemplate) }),
    };
  }

  /** Returns the step that makes the base image of a template with Debian packages; undefined without packages. */
  async function systemBase(
    name: string,
    python: string | undefined,
    packages: readonly string[],
  ): Promise<BuildStep | undefined> {
    const base =
      python === undefined ? baseOfTemplate(await template(name)) : `python:${python}-slim`;
    if (packages.length === 0) return undefined;
    if (base === undefined)
      throw new HubError('HUB_INTERNAL', `images/${name} does not name its base image`);
    return await systemStep({ name: base }, packages);
  }

  async function packagePlan(source: PackageSpec, packages: readonly string[]): Promise<ImagePlan> {
    const { base: name } = ecosystems[source.ecosystem];
    const system = await systemBase(name, source.python, packages);
    const image = imageOf(source, await template(name), system?.image.tag);
    const step: BuildStep = {
      image,
      begins: `building an image with ${source.spec}, once`,
      open: async () => ({
        lock: lockName(image.tag),
        isLockReused: true,
        pack: lock => template(name, lock),
      }),
    };
    return { reference: image.tag, steps: [...(system ? [system] : []), step] };
  }

  async function projectPlan(build: BuildSource, packages: readonly string[]): Promise<ImagePlan> {
    const { kind, folder, python } = build;
    const begins = `building an image of ${folder}`;
    if (kind === 'docker') {
      const image = projectImageOf(build, Buffer.alloc(0));
      const open: BuildStep['open'] = async tell => {
        const files = await filesOf(build, tell);
        return { pack: async () => packed(build, files) };
      };
      const steps: BuildStep[] = [{ image, begins, open }];
      if (packages.length > 0) steps.push(await systemStep(await baseNow(image.tag), packages));
      return { reference: steps.at(-1)?.image.tag ?? image.tag, steps };
    }
    const name = projectTemplates[kind];
    const system = await systemBase(name, python, packages);
    const base = system?.image.tag ?? (python === undefined ? undefined : `python:${python}-slim`);
    const image = projectImageOf(build, await template(name), base);
    const step: BuildStep = {
      image,
      begins,
      async open(tell) {
        const files = await filesOf(build, tell);
        const own = await readTemplateFiles(join(imagesDir, name));
        return {
          lock: projectLockName(build, files, base),
          isLockReused: true,
          pack: async lock => packed(build, layProject(kind, own, files, lock)),
        };
      },
    };
    return { reference: image.tag, steps: [...(system ? [system] : []), step] };
  }

  /** Returns an image as it is on the engine now. Its name may refer to another image later. */
  async function baseNow(name: string) {
    const found = await engine.findImage(name);
    return { name, ...(found && { id: found.id, user: found.user }) };
  }

  /** Returns the steps to get an image. */
  return async function planOf(wanted: ImageSource): Promise<ImagePlan> {
    const { systemPackages = [] } = wanted;
    if ('context' in wanted) return await ownPlan(wanted.context);
    if ('package' in wanted) return await packagePlan(wanted.package, systemPackages);
    if ('build' in wanted) return await projectPlan(wanted.build, systemPackages);
    const { reference } = wanted;
    if (systemPackages.length === 0) return { reference, pulled: reference, steps: [] };
    const step = await systemStep(await baseNow(reference), systemPackages);
    return { reference: step.image.tag, pulled: reference, steps: [step] };
  };
}

/** Packs files of a folder. Throws HUB_IMAGE_BUILD_FAILED for names and links that an archive cannot contain. */
function packed({ kind, folder }: BuildSource, files: readonly TarFile[]): Buffer {
  try {
    return packFiles(files);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const why =
      kind === 'docker' ? cause.message : cause.message.replace(/ (?:manifest|project)\//, ' ');
    throw new HubError(
      'HUB_IMAGE_BUILD_FAILED',
      `the folder ${folder} cannot be packed: ${why}. Shorten it, or list it in .dockerignore`,
      { cause },
    );
  }
}

const reasons = {
  secret: 'it may hold secrets; give them to the server with "env"',
  link: 'it is a link that leads out of the folder, or to nothing',
  special: 'it is neither a file nor a folder',
} as const;

/**
 * Returns the files of a folder, unless they have changed since the config was read. Reports the files that it leaves
 * out.
 */
async function filesOf({ folder, digest }: BuildSource, tell: (text: string) => void) {
  const context = await readContext(folder).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HubError('HUB_IMAGE_BUILD_FAILED', `the folder ${folder} ${why}`, { cause });
  });
  // The tag of the image is derived from the digest of the files, so they must be the same.
  if (context.digest !== digest)
    throw new HubError(
      'HUB_IMAGE_BUILD_FAILED',
      `the files in ${folder} have changed since the config was read. The hub reads them again when they change; or: agenthub reload`,
    );
  for (const { path, why } of context.leftOut) tell(`not in the image: ${path}: ${reasons[why]}`);
  return context.files;
}
