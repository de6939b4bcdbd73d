import { isDeepStrictEqual } from 'node:util';
import type { PackageSpec, ServerConfig } from '#config';
import { HubError, type JsonObject } from '#core';
import { packageKeyOf } from '../pins.ts';
import { splitSpec } from './versions.ts';

/** Returns the values of an entry that another package version changes. Throws HUB_CONFIG_CONFLICT without one. */
export function valuesFor(
  server: string,
  entry: JsonObject,
  from: PackageSpec,
  to: PackageSpec,
): JsonObject {
  const { package: written, args } = entry;
  if (typeof written === 'string') return { package: packageKeyOf(to) };
  const list = Array.isArray(args) ? args : [];
  const index = list.findIndex(arg => typeof arg === 'string' && namesPackage(arg, from));
  const arg = list[index];
  if (typeof arg !== 'string')
    throw new HubError(
      'HUB_CONFIG_CONFLICT',
      `${server}: its entry does not name the package as a "package" or in its "args". Change the version by hand`,
      { data: { server } },
    );
  return { args: list.with(index, replaced(arg, from, to)) };
}

const separators = { npm: ['@'], pypi: ['==', '@'] } as const;

/** True for an argument that is the package, with or without a version, also after an option such as `--from=`. */
function namesPackage(arg: string, from: PackageSpec): boolean {
  const { name } = splitSpec(from);
  const word = arg.replace(/^--?[\w-]+=/, '');
  return (
    word === name || separators[from.ecosystem].some(mark => word.startsWith(`${name}${mark}`))
  );
}

function replaced(arg: string, from: PackageSpec, to: PackageSpec): string {
  const option = /^--?[\w-]+=/.exec(arg)?.[0] ?? '';
  const { name } = splitSpec(to);
  const word = arg.slice(option.length);
  // A rollback may restore a tag, a range, or a package without a version.
  const version = to.spec.slice(name.length).replace(/^(?:@|==)/, '');
  if (version === '') return `${option}${name}`;
  const mark = separators[from.ecosystem].find(one => word.startsWith(`${name}${one}`));
  return `${option}${name}${mark ?? separators[from.ecosystem][0]}${version}`;
}

/**
 * Throws HUB_CONFIG_CONFLICT if the changed entry differs in more than the package. For example, a version in a
 * variable cannot be changed this way.
 */
export function requireOnlyPackage(before: ServerConfig, after: ServerConfig, to: PackageSpec) {
  const { launch } = after;
  const isMeant = launch.kind === 'local' && launch.package?.spec === to.spec;
  if (isMeant && isLocal(before) && isLocal(after))
    if (isDeepStrictEqual(withoutPackage(before), withoutPackage(after))) return;
  throw new HubError(
    'HUB_CONFIG_CONFLICT',
    `${before.name}: changing the version in its entry would change more than the package. Change it by hand`,
    { data: { server: before.name } },
  );
}

/** Returns the launch settings without the package, and without `written`, which also contains the version. */
const withoutPackage = ({ launch }: LocalConfig) => ({
  ...launch,
  package: undefined,
  written: undefined,
});

type LocalConfig = ServerConfig & {
  readonly launch: Extract<ServerConfig['launch'], { readonly kind: 'local' }>;
};
const isLocal = (config: ServerConfig): config is LocalConfig => config.launch.kind === 'local';
