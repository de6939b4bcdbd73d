import type { ServerConfig } from '#config';

/** What happens to a definition that changed. `off`: nothing is compared. */
type PinningMode = 'warn' | 'hide' | 'off';

/**
 * The mode of a server. Default: `hide` for remote servers and packages without an exact version, whose program can
 * change without a change of the config; else `warn`. The hub's own servers change with the hub: `off`.
 */
export function pinningOf({ pinning, launch }: ServerConfig): PinningMode {
  if (launch.kind === 'remote') return pinning ?? 'hide';
  if (launch.own !== undefined) return 'off';
  if (pinning) return pinning;
  return launch.package && !isExact(launch.package.spec) ? 'hide' : 'warn';
}

/**
 * True for `name@1.2.3` and `name==1.2`, false for a name alone, for a tag such as `name@latest`, and for `name@1.2` and
 * `name@1.2.x`, by which npm installs the newest version that begins so.
 */
const isExact = (spec: string) =>
  /.@\d+\.\d+\.\d+(?:[-+][\w.+-]*)?$|==(?:\d+!)?\d+(?:\.\d+)+[\w.+-]*$/.test(spec);
