import type { ServerConfig } from '#config';

/**
 * Returns how deviating definitions of a server are treated: `warn` reports them, `hide` hides them, and `off` does not
 * compare. Default: `hide` for remote servers and packages without an exact version, whose
 * programs can change without a change of the config; otherwise `warn`. The hub's own servers are `off`, as they change
 * with the hub.
 */
export function pinningOf({ pinning, launch }: ServerConfig) {
  if (launch.kind === 'remote') return pinning ?? 'hide';
  if (launch.own !== undefined) return 'off';
  if (pinning) return pinning;
  return launch.package && !isExact(launch.package.spec) ? 'hide' : 'warn';
}

/**
 * True for `name@1.2.3` of npm, and for `name==1.2` and `name==2025` of PyPI. False without a version, for a tag such as
 * `name@latest`, and for `name@1.2` and `name@1.2.x`, for which npm installs the newest matching version.
 */
const isExact = (spec: string) => /.@\d+\.\d+\.\d+(?:[-+][\w.+-]*)?$|==\d[\w.+!-]*$/.test(spec);
