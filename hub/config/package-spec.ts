import type { PackageSpec } from './config.ts';

/** What the `package` key names. */
export type PackageSource =
  | { readonly kind: 'package'; readonly package: PackageSpec }
  | { readonly kind: 'image'; readonly image: string };

/** A command line of npx or uvx that only runs a package. */
export type PackageLine = { readonly package: PackageSpec; readonly args: readonly string[] };

// Specs reach an installer's command line. Options, paths, URLs, git references, archives and
// anything that a shell reads are therefore no names or versions here.
const npmSpec =
  /^((?:@[a-z0-9][\w.-]{0,100}\/)?[a-z0-9][\w.-]{0,213})(?:@([a-z0-9][\w.+-]{0,99}))?$/i;
const pypiSpec = /^([a-z0-9](?:[\w.-]{0,98}[a-z0-9])?)(?:(?:==|@)([a-z0-9][\w.+-]{0,99}))?$/i;
const archive = /\.(?:tgz|tar|gz|zip|whl)$/i;
const imageReference =
  /^[a-z0-9][a-z0-9._-]*(?::\d{1,5})?(?:\/[a-z0-9][a-z0-9._-]*)*(?::[\w][\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/i;

/** `@org/server@1.2.3`, `uvx:name==1.0` or `docker:name:tag`; undefined for anything else. */
export function findPackage(written: string): PackageSource | undefined {
  if (written.startsWith('docker:')) {
    const image = written.slice('docker:'.length);
    return isImage(image) ? { kind: 'image', image } : undefined;
  }
  const found = written.startsWith('uvx:') ? pypi(written.slice('uvx:'.length)) : npm(written);
  return found && { kind: 'package', package: found };
}

/** True for an image reference: `name`, `host:5000/path/name:tag`, `name@sha256:...`. */
export const isImage = (text: string) => imageReference.test(text);

/** The package without its version. */
export const nameOfPackage = ({ ecosystem, spec }: PackageSpec) =>
  (ecosystem === 'npm' ? npmSpec : pypiSpec).exec(spec)?.[1] ?? spec;

/**
 * The package that a command line runs and the arguments behind it; undefined where the line does
 * more than that (a git repository, an extra package, another program of the package): it then stays
 * a command.
 */
export function findPackageLine(command: string, args: readonly string[]): PackageLine | undefined {
  if (command === 'npx' || command === 'npx.cmd') return npxLine(args);
  return command === 'uvx' || command === 'uvx.exe' ? uvxLine(args) : undefined;
}

function npxLine(args: readonly string[]): PackageLine | undefined {
  let named: PackageSpec | undefined;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '-y' || arg === '--yes' || arg === '-q' || arg === '--quiet') continue;
    if (arg === '-p' || arg === '--package' || arg.startsWith('--package=')) {
      if (named) return undefined;
      named = npm(
        arg.startsWith('--package=') ? arg.slice('--package='.length) : (args[++at] ?? ''),
      );
      if (!named) return undefined;
      continue;
    }
    const rest = args.slice(at + 1);
    if (!named) {
      const found = npm(arg);
      return found && { package: found, args: rest };
    }
    // npx without -p runs the program that is called like the package; so does the hub.
    const program = nameOfPackage(named).replace(/^@[^/]*\//, '');
    return arg === program ? { package: named, args: rest } : undefined;
  }
  return undefined;
}

function uvxLine(args: readonly string[]): PackageLine | undefined {
  const [first = '', second = ''] = args;
  const from = first.startsWith('--from=') ? first.slice('--from='.length) : second;
  if (!first.startsWith('--from')) {
    const found = pypi(first);
    return found && { package: found, args: args.slice(1) };
  }
  const found = pypi(from);
  const at = first === '--from' ? 2 : 1;
  return found && args[at] === nameOfPackage(found)
    ? { package: found, args: args.slice(at + 1) }
    : undefined;
}

function npm(spec: string): PackageSpec | undefined {
  return npmSpec.test(spec) && !archive.test(spec) ? { ecosystem: 'npm', spec } : undefined;
}

function pypi(written: string): PackageSpec | undefined {
  const [, name, version] = pypiSpec.exec(written) ?? [];
  if (name === undefined || archive.test(written)) return undefined;
  // uvx writes `name@latest` for the newest version, which pip's form says by leaving it out.
  const pinned = version !== undefined && version !== 'latest';
  return { ecosystem: 'pypi', spec: pinned ? `${name}==${version}` : name };
}
