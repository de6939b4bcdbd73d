import type { PackageSpec, ServerConfig } from '#config';
import { HubError, type JsonObject, messageOf } from '#core';
import type { Pins } from '../pins.ts';
import { compareVersions, splitSpec } from './versions.ts';

/** Current and newest version of a server's package. */
type PackageState = JsonObject & {
  readonly name: string;
  /** `unpinned`: the entry has no exact version. `unknown`: the registry did not tell the newest one. */
  readonly state: 'outdated' | 'current' | 'unpinned' | 'unknown';
  readonly package: string;
  readonly current: string | null;
  readonly newest: string | null;
};

/** Maximum number of concurrent requests to registries. */
const maxAtOnce = 6;

/** Returns the package of a config; undefined for images, remote servers and commands. */
export const packageOf = ({ launch }: ServerConfig): PackageSpec | undefined =>
  launch.kind === 'local' && launch.own === undefined ? launch.package : undefined;

/** Queries the registries for the newest package versions, and returns the states in the order of the configs. */
export async function findOutdated(
  configs: readonly ServerConfig[],
  pins: Pick<Pins, 'pin'>,
  signal: AbortSignal,
): Promise<readonly PackageState[]> {
  const wanted = configs.flatMap(config => {
    const source = packageOf(config);
    return source ? [{ name: config.name, source }] : [];
  });
  const found: PackageState[] = [];
  for (let index = 0; index < wanted.length; index += maxAtOnce)
    found.push(
      ...(await Promise.all(
        wanted.slice(index, index + maxAtOnce).map(async ({ name, source }) => ({
          name,
          ...(await stateOf(source, pins, signal)),
        })),
      )),
    );
  return found;
}

async function stateOf(source: PackageSpec, pins: Pick<Pins, 'pin'>, signal: AbortSignal) {
  const { name, version } = splitSpec(source);
  const about = { package: name, current: version ?? null };
  try {
    const newest = splitSpec(await pins.pin({ ...source, spec: name }, signal)).version;
    if (newest === undefined) return { ...about, state: 'unknown' as const, newest: null };
    const isOlder = version !== undefined && compareVersions(version, newest) < 0;
    const state = version === undefined ? 'unpinned' : isOlder ? 'outdated' : 'current';
    return { ...about, state, newest } as const;
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    return { ...about, state: 'unknown' as const, newest: null, why: messageOf(error) };
  }
}
