import type { Config, LocalLaunch, PackageSpec } from './config.ts';

/** What a config may say and its writer should think about, each as a sentence for the log. Pure. */
export function warningsOf({ servers, naming }: Config): readonly string[] {
  const unpinned = servers.flatMap(({ name, enabled, launch }) =>
    enabled && launch.kind === 'local' && launch.package && !isPinned(launch.package)
      ? [
          `${name}: the package ${launch.package.spec} has no version, so it is the newest of the day it is installed. Add one`,
        ]
      : [],
  );
  const unplaced = servers.flatMap(({ name, enabled, launch }) =>
    enabled && launch.kind === 'local' && launch.runtime !== 'process' && !isInAnImage(launch)
      ? [
          `${name}: the command ${JSON.stringify(launch.command)} is in no image, so where Docker is used it cannot start. Set "image", "package", or "runtime": "process"`,
        ]
      : [],
  );
  const separator =
    naming.separator === '.'
      ? ['naming.separator is ".": some clients and models refuse such names']
      : [];
  return [...separator, ...unpinned, ...unplaced];
}

const isInAnImage = (launch: LocalLaunch) =>
  launch.package !== undefined || launch.image !== undefined;

/** True where the spec names one version. A tag such as `latest` does not. */
function isPinned({ ecosystem, spec }: PackageSpec): boolean {
  return ecosystem === 'npm' ? /.@\d/.test(spec) : /==\d/.test(spec);
}
