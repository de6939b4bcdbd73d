import {
  type Clock,
  type Event,
  type Log,
  type Service,
  HubError,
  createEmitter,
  messageOf,
} from '#core';
import type { Config } from './config.ts';
import { type Difference, diffConfigs, isSameConfig } from './diff.ts';
import type { FileWatch, FileWatchOptions } from './file-watch.ts';
import type { FileSnapshot, ReadText } from './files.ts';
import type { ConfigReading } from './load.ts';
import { watchFiles } from './watch-files.ts';

/** The replacement of one config by another. */
export type ConfigChange = {
  readonly before: Config;
  readonly after: Config;
  readonly difference: Difference;
};

export type ReloadOutcome =
  /** The files contain the config that is already active. */
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'changed' } & ConfigChange)
  /** The files are invalid; nothing changed. */
  | { readonly kind: 'refused'; readonly error: HubError };

export type ConfigStatus = {
  /** The watched files that the config was read from, the config file first. Absolute. */
  readonly files: readonly string[];
  /** When the active config was read, in ms since the epoch. */
  readonly loadedAt: number;
  /** Why the current files are not applied, and since when. */
  readonly error?: { readonly at: number; readonly message: string };
};

/** The active config. As a service of the app, it watches the config files from `start` to `stop`. */
export interface ConfigSource extends Service {
  readonly current: Config;
  readonly status: ConfigStatus;
  /** Fires when another config becomes active. Listeners apply it; a reload does not wait for them. */
  readonly changed: Event<ConfigChange>;
  /**
   * Reads the files again. Reads do not overlap: calls during a running read share one further read. Never rejects.
   */
  reload(): Promise<ReloadOutcome>;
}

export type ConfigSourceNeeds = {
  /** Reads the config with the current environment. If it throws, the reload is refused. */
  readonly read: () => Promise<ConfigReading>;
  /** The file reader that `read` uses, if it is not the default one. */
  readonly readText?: ReadText | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/** Creates a source with a valid first config. If a later one is invalid, the last valid config stays active. */
export function createConfigSource(
  first: { readonly config: Config; readonly files: readonly FileSnapshot[] },
  needs: ConfigSourceNeeds,
  options: Partial<FileWatchOptions> = {},
): ConfigSource {
  const { read, clock, log } = needs;
  const changed = createEmitter<ConfigChange>(error =>
    log.error({ error: messageOf(error) }, 'a new config could not be applied'),
  );
  let current = first.config;
  let files = first.files;
  let loadedAt = clock.now();
  let refused: ConfigStatus['error'];
  let running: Promise<ReloadOutcome> | undefined;
  let next: Promise<ReloadOutcome> | undefined;
  let watch: FileWatch | undefined;

  /** `seen`: the snapshots of the watch, if it triggered the load. */
  async function load(seen: readonly FileSnapshot[]): Promise<ReloadOutcome> {
    const reading = await readSafely(read);
    if (reading.error && isOvertaken(reading.files, seen)) {
      // The file changed again during the read: wait until the writer is done, and compare with the older snapshot.
      await watch?.follow(files);
      return { kind: 'refused', error: reading.error };
    }
    if (reading.files.length > 0) {
      files = reading.error ? reading.files.map(withGoodLength) : reading.files;
      await watch?.follow(files);
    }
    return reading.error ? refuse(reading.error) : applyConfig(reading.config);
  }

  /**
   * Keeps the length of the last valid text, because an invalid text cannot show whether the next one is truncated.
   */
  function withGoodLength(seen: FileSnapshot): FileSnapshot {
    const before = files.find(({ path }) => path === seen.path);
    return before ? { ...seen, length: before.length } : seen;
  }

  function refuse(error: HubError): ReloadOutcome {
    // Report an unchanged error only once, not at every check.
    if (refused?.message !== error.message) {
      refused = { at: clock.now(), message: error.message };
      log.error({ error: error.message }, 'the config is invalid: the last valid one stays active');
    }
    return { kind: 'refused', error };
  }

  function applyConfig(config: Config): ReloadOutcome {
    if (refused) log.info({ file: files[0]?.path }, 'the config is valid again');
    refused = undefined;
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

  function run(seen: readonly FileSnapshot[] = []): Promise<ReloadOutcome> {
    const result = load(seen).finally(() => {
      if (running === result) running = undefined;
    });
    running = result;
    return result;
  }

  function reload(seen?: readonly FileSnapshot[]): Promise<ReloadOutcome> {
    if (next) return next;
    if (!running) return run(seen);
    next = running.then(() => {
      next = undefined;
      return run();
    });
    return next;
  }

  return {
    name: 'config',
    get current() {
      return current;
    },
    get status() {
      const paths = files.map(({ path }) => path);
      return { files: paths, loadedAt, ...(refused && { error: refused }) };
    },
    changed: changed.event,
    reload: () => reload(),
    async start() {
      watch = watchFiles(options, {
        clock,
        log,
        readText: needs.readText,
        async onChange(seen) {
          await reload(seen);
        },
      });
      await watch.follow(files);
    },
    async stop() {
      await watch?.[Symbol.asyncDispose]();
      watch = undefined;
      await next;
      await running;
    },
  };
}

/** True if a file changed between the watch's snapshot and this read. */
const isOvertaken = (read: readonly FileSnapshot[], seen: readonly FileSnapshot[]) =>
  seen.some(({ path, digest }) => read.some(one => one.path === path && one.digest !== digest));

/** Turns an unexpected error into a refused reload, so that it does not stop the hub. */
async function readSafely(read: () => Promise<ConfigReading>): Promise<ConfigReading> {
  try {
    return await read();
  } catch (error) {
    const known =
      error instanceof HubError
        ? error
        : new HubError('HUB_INTERNAL', messageOf(error), { cause: error });
    return { files: [], error: known };
  }
}
