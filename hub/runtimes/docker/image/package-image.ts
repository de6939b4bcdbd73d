import { createHash } from 'node:crypto';
import type { PackageSpec } from '#config';
import { HubError } from '#core';
import type { BuildOptions } from '../engine/images.ts';
import { baseLabel, managedLabel, packageLabel } from '../container/labels.ts';

/**
 * Ecosystems of packages. `base`: folder of `images/` with the build context. `form` accepts only names and versions of
 * registries, so that no path, URL, option or white space reaches an installer.
 */
export const ecosystems = {
  npm: {
    base: 'npm',
    form: /^((?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*)(?:@([a-z0-9^~<>=*][a-z0-9^~<>=*.+-]*))?$/i,
    example: '@modelcontextprotocol/server-memory@2026.8.31',
  },
  pypi: {
    base: 'python',
    form: /^([a-z0-9][a-z0-9._-]*(?:\[[a-z0-9,._-]+\])?)(?:(?:==|~=|!=|>=|<=|<|>)([a-z0-9][a-z0-9.+!*,<>=~-]*))?$/i,
    example: 'mcp-server-time==2026.10.19',
  },
};

/**
 * Returns the image of a package. Its tag depends only on the package, the context and `systemBase`, an image with
 * Debian packages to build on. Throws HUB_LAUNCH_INVALID.
 */
export function imageOf(source: PackageSpec, context: Buffer, systemBase?: string): BuildOptions {
  const { ecosystem, spec, with: extras = [], python } = source;
  const { base, form, example } = ecosystems[ecosystem];
  const refuse = (text: string, consequence = '') =>
    new HubError(
      'HUB_LAUNCH_INVALID',
      `"${text}" is not a package of ${ecosystem}${consequence}. Write its name and version, such as ${example}`,
    );
  const [, name, version = 'latest'] = form.exec(spec) ?? [];
  if (name === undefined) throw refuse(spec);
  const wrong = extras.find(extra => !form.test(extra));
  if (wrong !== undefined) throw refuse(wrong, `, so it cannot be installed beside ${spec}`);
  // Absent options do not change the digest, so the tags of existing images stay the same.
  const more = extras.length > 0 || python !== undefined ? JSON.stringify([extras, python]) : '';
  const hash = createHash('sha256').update(context).update(spec).update(more);
  const digest = hash.update(systemBase ?? '').digest('hex');
  const builtOn = systemBase ?? (python === undefined ? undefined : `python:${python}-slim`);
  const tag = `${tidyForTag(version).slice(0, 100) || 'latest'}-${digest.slice(0, 12)}`;
  return {
    tag: `agenthub/${base}-${tidyForTag(name).slice(0, 100)}:${tag}`,
    package: spec,
    ...(extras.length > 0 && { with: extras }),
    ...(builtOn !== undefined && { base: builtOn }),
    labels: { [managedLabel]: 'true', [baseLabel]: base, [packageLabel]: spec },
  };
}

/**
 * Returns an image of the hub's own, made of the files in a folder of `images/`. Its tag depends only on these files.
 */
export const ownImageOf = (name: string, context: Buffer): BuildOptions => ({
  tag: `agenthub/${name}:${createHash('sha256').update(context).digest('hex').slice(0, 12)}`,
  labels: { [managedLabel]: 'true', [baseLabel]: name },
});

/** Replaces characters that are not allowed in repository names or tags. */
export function tidyForTag(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+|\.{2,}/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '')
    .replaceAll(/[.-]{2,}/g, '-');
}
