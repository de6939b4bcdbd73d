import type { PackageSpec } from './config.ts';

/** What the `package` key names. */
export type PackageSource =
  | { readonly kind: 'package'; readonly package: PackageSpec }
  | { readonly kind: 'image'; readonly image: string };

// Specs reach an installer's command line. Options, paths, URLs, git references, archives and
// anything that a shell reads are therefore no names or versions here.
const npmSpec =
  /^((?:@[a-z0-9][\w.-]{0,100}\/)?[a-z0-9][\w.-]{0,213})(?:@([a-z0-9][\w.+-]{0,99}))?$/i;
const pypiSpec = /^([a-z0-9](?:[\w.-]{0,98}[a-z0-9])?)(?:(?:==|@)([a-z0-9][\w.+-]{0,99}))?$/i;
/** Packages beside the first may have a range and extras: they are chosen to go with it. */
const pypiExtra =
  /^[a-z0-9](?:[\w.-]{0,98}[a-z0-9])?(?:\[[\w,.-]{1,100}\])?(?:(?:==|>=|<=|~=|!=|<|>)[a-z0-9][\w.+!*-]{0,99})?$/i;
const archive = /\.(?:tgz|tar|gz|zip|whl)$/i;
const imageReference =
  /^[a-z0-9][a-z0-9._-]*(?::\d{1,5})?(?:\/[a-z0-9][a-z0-9._-]*)*(?::[\w][\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/i;

/** `@org/server@1.2.3`, `uvx:name==1.0` or `docker:name:tag`; undefined for anything else. */
export function findPackage(written: string): PackageSource | undefined {
  if (written.startsWith('docker:')) {
    const image = written.slice('docker:'.length);
    return isImage(image) ? { kind: 'image', image } : undefined;
  }
  const found = written.startsWith('uvx:')
    ? pypiPackage(written.slice('uvx:'.length))
    : npmPackage(written);
  return found && { kind: 'package', package: found };
}

/** True for an image reference: `name`, `host:5000/path/name:tag`, `name@sha256:...`. */
export const isImage = (text: string) => imageReference.test(text);

/** The package without its version. */
export const nameOfPackage = ({ ecosystem, spec }: PackageSpec) =>
  (ecosystem === 'npm' ? npmSpec : pypiSpec).exec(spec)?.[1] ?? spec;

/** A package to be installed beside another, as its installer takes it; undefined for anything else. */
export function findExtra(
  ecosystem: PackageSpec['ecosystem'],
  written: string,
): string | undefined {
  if (ecosystem === 'npm') return npmPackage(written)?.spec;
  return pypiExtra.test(written) && !archive.test(written) ? written : pypiPackage(written)?.spec;
}

/** A package as npm takes it; undefined for anything else. */
export function npmPackage(spec: string): PackageSpec | undefined {
  return npmSpec.test(spec) && !archive.test(spec) ? { ecosystem: 'npm', spec } : undefined;
}

/** A package as uvx takes it; undefined for anything else. */
export function pypiPackage(written: string): PackageSpec | undefined {
  const [, name, version] = pypiSpec.exec(written) ?? [];
  if (name === undefined || archive.test(written)) return undefined;
  // uvx writes `name@latest` for the newest version, which pip's form says by leaving it out.
  const pinned = version !== undefined && version !== 'latest';
  return { ecosystem: 'pypi', spec: pinned ? `${name}==${version}` : name };
}
