import { type HubError, createEmitter, messageOf } from '#core';
import type { Config } from './config.ts';
import { type Difference, diffConfigs, isSameConfig } from './diff.ts';
import type { WatchTiming } from './file-watch.ts';
import type { FileSnapshot } from './files.ts';
import type { ConfigReading } from './load.ts';
import { type ReloaderNeeds, createReloader } from './reloader.ts';

export type ConfigChange = {
  readonly before: Config;
  readonly after: Config;
  readonly difference: Difference;
};

type ReloadOutcome =
  /** The files have the same content as the active config. */
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'changed' } & ConfigChange)
  /** The files are invalid, and the active config is unchanged. */
  | { readonly kind: 'refused'; readonly error: HubError };

/**
 * Creates the source of the active config. As a service of the app, it watches the config files from `start` to `stop`.
 * If a later config is invalid, the last valid one stays active. `read` reads it with the current environment.
 */
export function createConfigSource(
  first: { readonly config: Config; readonly files: readonly FileSnapshot[] },
  needs: ReloaderNeeds & { readonly read: () => Promise<ConfigReading> },
  timing: WatchTiming = {},
) {
  const { clock, log } = needs;
  const changed = createEmitter<ConfigChange>(error =>
    log.error({ error: messageOf(error) }, 'a new config could not be applied'),
  );
  let current = first.config;
  let loadedAt = clock.now();

  const { status, service } = createReloader<{ readonly config: Config }, ReloadOutcome>(
    first.files,
    timing,
    {
      ...needs,
      apply({ config }, { wasRefused }) {
        if (wasRefused) log.info({ file: status().files[0] }, 'the config is valid again');
        loadedAt = clock.now();
        const before = current;
        const difference = diffConfigs(before, config);
        if (isSameConfig(difference)) return { kind: 'unchanged' };
        current = config;
        const change = { before, after: config, difference };
        changed.fire(change);
        return { kind: 'changed', ...change };
      },
      refused: error => ({ kind: 'refused', error }),
      invalidMessage: 'the config is invalid: the last valid one stays active',
    },
  );

  return {
    ...service,
    name: 'config',
    get current() {
      return current;
    },
    /** Status of the config. `loadedAt` is the time when the active config was read, in ms since the epoch. */
    get status() {
      return { ...status(), loadedAt };
    },
    /** Fires when a new config becomes active. Listeners apply it; a reload does not wait for them. */
    changed: changed.event,
  };
}
