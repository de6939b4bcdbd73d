import { type Event, type HubError, type Service, createEmitter, messageOf } from '#core';
import type { Config } from './config.ts';
import { type Difference, diffConfigs, isSameConfig } from './diff.ts';
import type { WatchTiming } from './file-watch.ts';
import type { FileSnapshot } from './files.ts';
import type { ConfigReading } from './load.ts';
import { type Refusal, type ReloaderNeeds, createReloader } from './reloader.ts';

export type ConfigChange = {
  readonly before: Config;
  readonly after: Config;
  readonly difference: Difference;
};

type ReloadOutcome =
  /** The files contain the config that is already active. */
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'changed' } & ConfigChange)
  /** The files are invalid; nothing changed. */
  | { readonly kind: 'refused'; readonly error: HubError };

/** The active config. As a service of the app, it watches the config files from `start` to `stop`. */
export interface ConfigSource extends Service {
  readonly current: Config;
  readonly status: {
    /** The watched files that the config was read from, the config file first. Absolute. */
    readonly files: readonly string[];
    /** When the active config was read, in ms since the epoch. */
    readonly loadedAt: number;
    readonly error?: Refusal;
  };
  /** Fires when another config becomes active. Listeners apply it; a reload does not wait for them. */
  readonly changed: Event<ConfigChange>;
  /**
   * Reads the files again. Reads do not overlap: calls during a running read share one further read. Never rejects.
   */
  reload(): Promise<ReloadOutcome>;
}

/**
 * Creates a source with a valid first config. If a later one is invalid, the last valid config stays active. `read`
 * reads the config with the current environment.
 */
export function createConfigSource(
  first: { readonly config: Config; readonly files: readonly FileSnapshot[] },
  needs: ReloaderNeeds & { readonly read: () => Promise<ConfigReading> },
  timing: WatchTiming = {},
): ConfigSource {
  const { read, clock, log } = needs;
  const changed = createEmitter<ConfigChange>(error =>
    log.error({ error: messageOf(error) }, 'a new config could not be applied'),
  );
  let current = first.config;
  let loadedAt = clock.now();

  function applyConfig(config: Config): ReloadOutcome {
    loadedAt = clock.now();
    const before = current;
    const difference = diffConfigs(before, config);
    if (isSameConfig(difference) && before.managementTools === config.managementTools)
      return { kind: 'unchanged' };
    current = config;
    const change = { before, after: config, difference };
    changed.fire(change);
    return { kind: 'changed', ...change };
  }

  const reloader = createReloader<{ readonly config: Config }, ReloadOutcome>(
    first.files,
    {
      read,
      apply({ config, files }, { wasRefused }) {
        if (wasRefused) log.info({ file: files[0]?.path }, 'the config is valid again');
        return applyConfig(config);
      },
      refused: error => ({ kind: 'refused', error }),
      invalidMessage: 'the config is invalid: the last valid one stays active',
    },
    needs,
    timing,
  );

  return {
    name: 'config',
    get current() {
      return current;
    },
    get status() {
      const { files, refusal } = reloader;
      const paths = files.map(({ path }) => path);
      return { files: paths, loadedAt, ...(refusal && { error: refusal }) };
    },
    changed: changed.event,
    reload: reloader.reload,
    start: reloader.start,
    stop: reloader.stop,
  };
}
