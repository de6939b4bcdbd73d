import { createHash } from 'node:crypto';
import { HubError } from '#core';
import type { PackageSource } from '#runtimes';
import type { BuildOptions } from './engine.ts';
import { baseLabel, managedLabel, packageLabel } from './labels.ts';

/** The folder of `images/` that packages of an ecosystem are built from. */
export const baseOf: Readonly<Record<PackageSource['ecosystem'], string>> = {
  npm: 'npm',
  pypi: 'python',
};

/** Names and versions of registries only: no path, URL, option or white space reaches an installer. */
const forms: Readonly<Record<PackageSource['ecosystem'], { form: RegExp; example: string }>> = {
  npm: {
    form: /^((?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*)(?:@([a-z0-9^~<>=*][a-z0-9^~<>=*.+-]*))?$/i,
    example: '@modelcontextprotocol/server-memory@2026.8.31',
  },
  pypi: {
    form: /^([a-z0-9][a-z0-9._-]*(?:\[[a-z0-9,._-]+\])?)(?:(?:==|~=|!=|>=|<=|<|>)([a-z0-9][a-z0-9.+!*,<>=~-]*))?$/i,
    example: 'mcp-server-time==2026.10.19',
  },
};

/**
 * Which image holds a package. The tag changes with the package and with what it is built from, and
 * with nothing else: an image that was built once serves until one of them changes, so that no start
 * needs a registry. Throws HUB_LAUNCH_INVALID for a spec that is no name with a version.
 */
export function imageOf(source: PackageSource, context: Buffer): BuildOptions {
  const { ecosystem, spec, with: extras = [], python } = source;
  const { form, example } = forms[ecosystem];
  const [, name, version = 'latest'] = form.exec(spec) ?? [];
  if (name === undefined)
    throw new HubError(
      'HUB_LAUNCH_INVALID',
      `"${spec}" is no package of ${ecosystem}. Write its name and version, such as ${example}`,
    );
  for (const extra of extras)
    if (!form.test(extra))
      throw new HubError(
        'HUB_LAUNCH_INVALID',
        `"${extra}" is no package of ${ecosystem}, so it cannot be installed beside ${spec}. Write its name and version, such as ${example}`,
      );
  // What is absent does not count, so that images of a package alone keep their tags.
  const more = extras.length > 0 || python !== undefined ? JSON.stringify([extras, python]) : '';
  const digest = createHash('sha256').update(context).update(spec).update(more).digest('hex');
  const hash = digest.slice(0, 12);
  const base = baseOf[ecosystem];
  const tag = `${tidy(version).slice(0, 100) || 'latest'}-${hash}`;
  return {
    tag: `agenthub/${base}-${tidy(name).slice(0, 100)}:${tag}`,
    package: spec,
    ...(extras.length > 0 && { with: extras }),
    ...(python !== undefined && { base: `python:${python}-slim` }),
    labels: { [managedLabel]: 'true', [baseLabel]: base, [packageLabel]: spec },
  };
}

/** What a repository and a tag may both hold: lower case, digits, single dots and dashes. */
function tidy(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+|\.{2,}/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '')
    .replaceAll(/[.-]{2,}/g, '-');
}
