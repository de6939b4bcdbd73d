import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { BuildSource } from '#runtimes';
import { baseLabel, managedLabel, packageLabel } from '../container/labels.ts';
import type { BuildOptions } from '../engine/images.ts';
import { tidyForTag } from './package-image.ts';

/** Folders of `images/` for the folders of users. One with a Dockerfile is its own context. */
export const projectTemplates = { npm: 'node-project', python: 'python-project' } as const;

/** Folder of `images/` that adds Debian packages to an image. */
export const systemTemplate = 'system';

/** The image of a folder. Its tag depends on the files, on the template, and on the image that it is built on. */
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

/** `id`: of the base image, where it may change under its name. `user`: of the base image; absent: root. */
type SystemBase = { readonly name: string; readonly id?: string; readonly user?: string };

/** An image with Debian packages on top of another. Its tag depends on both, and on the template. */
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

/** The image that a template of `images/` is built on: the default of its build argument BASE. */
export const baseOfTemplate = (context: Buffer): string | undefined =>
  /^ARG BASE=(\S+)$/m.exec(context.toString('latin1'))?.[1];
