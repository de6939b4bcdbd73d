import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { BuildSource } from '#runtimes';
import { baseLabel, managedLabel, packageLabel } from '../container/labels.ts';
import type { BuildOptions } from '../engine/images.ts';
import { tidyForTag } from './package-image.ts';

/** Folders in `images/` with the templates for folders of users. A folder with a Dockerfile needs no template. */
export const projectTemplates = { npm: 'node-project', python: 'python-project' } as const;

/** Name of the template in `images/` that adds Debian packages to an image. */
export const systemTemplate = 'system';

/** Returns the image of a user's folder. Its tag depends on the files, on the template, and on the base image. */
export function projectImageOf(build: BuildSource, template: Buffer, base?: string): BuildOptions {
  const { kind, folder, digest } = build;
  const name = basename(folder);
  const hash = createHash('sha256')
    .update(template)
    .update(JSON.stringify([kind, digest, base]));
  const tag = `${tidyForTag(name).slice(0, 100) || 'folder'}:${hash.digest('hex').slice(0, 12)}`;
  return {
    tag: `agenthub/build-${tag}`,
    ...(base !== undefined && { base }),
    labels: {
      [managedLabel]: 'true',
      [baseLabel]: kind === 'docker' ? 'dockerfile' : projectTemplates[kind],
      [packageLabel]: name,
    },
  };
}

/** The base image of a build. `id`: set if the name may refer to another image later. `user`: absent for root. */
type SystemBase = { readonly name: string; readonly id?: string; readonly user?: string };

/** Returns the image with Debian packages on top of another. Its tag depends on both, and on the template. */
export function systemImageOf(
  base: SystemBase,
  packages: readonly string[],
  template: Buffer,
): BuildOptions {
  const names = packages.toSorted();
  const hash = createHash('sha256')
    .update(template)
    .update(JSON.stringify([base, names]));
  const name = tidyForTag(base.name.replace(/^.*\//, '').replace(/[:@].*$/, '')).slice(0, 100);
  return {
    tag: `agenthub/system-${name || 'image'}:${hash.digest('hex').slice(0, 12)}`,
    base: base.id ?? base.name,
    args: {
      PACKAGES: names.join(' '),
      ...(base.user !== undefined && base.user !== '' && { BASE_USER: base.user }),
    },
    labels: {
      [managedLabel]: 'true',
      [baseLabel]: systemTemplate,
      [packageLabel]: names.join(' '),
    },
  };
}

/** Returns the base image of a template in `images/`: the default of its build argument BASE. */
export const baseOfTemplate = (context: Buffer): string | undefined =>
  /^ARG BASE=(\S+)$/m.exec(context.toString('latin1'))?.[1];
