import type { PackageSpec } from '#config';

/** Patterns that split a package spec into name and version. */
export const specForms: Readonly<Record<PackageSpec['ecosystem'], RegExp>> = {
  npm: /^((?:@[^/]+\/)?[^@]+)(?:@(.+))?$/,
  pypi: /^([^=]+)(?:==(.+))?$/,
};

/** Matches exact versions. To npm, `1.2` is a range; PyPI has versions such as `2025`. */
export const exactVersions: Readonly<Record<PackageSpec['ecosystem'], RegExp>> = {
  npm: /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/,
  pypi: /^\d[\w.!+-]*$/,
};

/** Returns the name of a package and its exact version; undefined if the entry leaves the version open. */
export function splitSpec({ ecosystem, spec }: PackageSpec) {
  const [, name = spec, wanted] = specForms[ecosystem].exec(spec) ?? [];
  const isExact = wanted !== undefined && exactVersions[ecosystem].test(wanted);
  return { name, version: isExact ? wanted : undefined };
}

/** Returns the package with another version. */
export const withVersion = (source: PackageSpec, version: string): PackageSpec => ({
  ...source,
  spec: `${splitSpec(source).name}${source.ecosystem === 'npm' ? '@' : '=='}${version}`,
});

/**
 * Compares exact versions of npm (Semantic Versioning) or PyPI (PEP 440): negative if `one` is older. Pre-releases
 * precede their release, a higher epoch ("1!2.0") follows all versions of a lower one, and text after "+" is ignored.
 */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  if (a.epoch !== b.epoch) return a.epoch - b.epoch;
  for (let index = 0; index < Math.max(a.release.length, b.release.length); index++) {
    const difference = (a.release[index] ?? 0) - (b.release[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.stage - b.stage || a.rest.localeCompare(b.rest, 'en', { numeric: true });
}

function partsOf(version: string) {
  const [, epoch = '0', release = '', rest = ''] =
    /^v?(?:(\d+)!)?(\d+(?:\.\d+)*)([^+]*)/.exec(version) ?? [];
  return {
    epoch: Number(epoch),
    release: release.split('.').map(Number),
    rest,
    stage: stageOf(rest),
  };
}

/** Returns -1 for a pre-release, 0 for a release, 1 for a post-release of PyPI. */
function stageOf(rest: string): number {
  if (rest === '') return 0;
  return /^[.-]?post/i.test(rest) ? 1 : -1;
}
