import type { ServerConfig } from '#config';
import type { JsonObject } from '#core';
import { findInClear } from './in-clear.ts';
import type { InstallEntry } from './request.ts';

/** The result of an install: the chosen values, the server's description and lists, and warnings. */
export type Installed = JsonObject & { readonly name: string };

/** Describes an installed server by its entry, its config, and what its trial found out. */
export function describe(
  name: string,
  entry: InstallEntry,
  { autoStart, launch }: ServerConfig,
  found: JsonObject,
  secrets: ReadonlySet<string>,
): Installed {
  const inClear = findInClear(entry, secrets);
  return {
    name,
    auto_start: autoStart,
    ...(launch.kind === 'local' && {
      ...(launch.package && { package: launch.package.spec }),
      ...(launch.own !== undefined && { package: `agenthub:${launch.own}` }),
      ...(launch.image !== undefined && { image: launch.image }),
      ...(launch.build && { build: launch.build.folder }),
      ...(launch.systemPackages && { system_packages: launch.systemPackages }),
    }),
    ...found,
    in_clear: inClear,
    warnings: inClear.map(
      path =>
        `${path} may be a secret, and the config file contains it in clear text. Store it with "agenthub secret set NAME" and write "\${secret:NAME}" in its place, or set a variable of the environment or of .env and write "\${NAME}"`,
    ),
  };
}
