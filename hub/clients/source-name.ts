import { type PackageLine, findPackage, findPackageLine, nameOfPackage } from '#config';
import type { JsonObject } from '#core';
import { filled } from './filled.ts';

/**
 * Returns the package that an entry runs, and its arguments; undefined if there is none. `why` is set if a launcher's
 * command line names no usable package.
 */
function packageLineOf({ package: named, command, args }: JsonObject): PackageLine | undefined {
  const words = Array.isArray(args) ? args.filter(arg => typeof arg === 'string') : [];
  if (typeof named === 'string') {
    const found = findPackage(named);
    return found?.kind === 'package' ? { package: found.package, args: words } : undefined;
  }
  return typeof command === 'string' ? findPackageLine(command, words) : undefined;
}

/** Returns the image of an entry; undefined if the entry names none. */
export function imageOf({ package: named, image }: JsonObject): string | undefined {
  if (typeof image === 'string') return image;
  const found = typeof named === 'string' ? findPackage(named) : undefined;
  return found?.kind === 'image' ? found.image : undefined;
}

/** Returns the name of an entry's package or image without its version, in the form for `findKnownPackage`. */
export function sourceNameOf(entry: JsonObject): string | undefined {
  const image = imageOf(entry);
  if (image !== undefined) return `docker:${image.replace(/@.*$|:[^:/]*$/, '')}`;
  const line = packageLineOf(entry);
  if (!line || 'why' in line) return undefined;
  return `${line.package.ecosystem === 'pypi' ? 'pypi:' : ''}${nameOfPackage(line.package)}`;
}

/** Replaces a command line of npx or uvx by the key `package`, in which an import pins the version. */
export function withPackageKey(entry: JsonObject): JsonObject {
  const { command, args, ...rest } = entry;
  const line =
    typeof command === 'string' ? packageLineOf({ command, args: args ?? [] }) : undefined;
  if (entry['package'] !== undefined || !line || 'why' in line) return entry;
  const { ecosystem, spec, with: extras, python } = line.package;
  const source = ecosystem === 'npm' ? spec : `uvx:${spec}`;
  const own = { package: source, command: line.program, args: line.args, with: extras, python };
  return { ...filled(own), ...rest };
}
