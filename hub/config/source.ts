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
import type { FileSeen, ReadText } from './files.ts';
import type { Reading } from './load.ts';
import { watchFiles } from './watch-files.ts';

/** A config that took the place of another. */
export type ConfigChange = {
  readonly before: Config;
  readonly after: Config;
  readonly difference: Difference;
};

export type ReloadOutcome =
  /** The files say what is in force already. */
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'changed' } & ConfigChange)
  /** They are not valid, and nothing has changed. */
  | { readonly kind: 'refused'; readonly error: HubError };

export type ConfigStatus = {
  /** What the config was read from, and is watched: the config file first. Absolute. */
  readonly files: readonly string[];
  /** When the config in force was read. In milliseconds since the epoch. */
  readonly loadedAt: number;
  /** Why what the files say now is not in force, and since when. */
  readonly error?: { readonly at: number; readonly message: string };
};

/** The config in force. As a service of the app it watches its files from `start` to `stop`. */
export interface ConfigSource extends Service {
  readonly current: Config;
  readonly status: ConfigStatus;
  /** Another config is in force. Listeners apply it; none of them delays a reload. */
  readonly changed: Event<ConfigChange>;
  /**
   * Reads the files now. One at a time: one asked for during another runs after it, and all who ask
   * meanwhile share that. Never rejects.
   */
  reload(): Promise<ReloadOutcome>;
}

export type ConfigSourceNeeds = {
  /** Reads the config anew, with the environment of that moment. What it throws refuses the reload. */
  readonly read: () => Promise<Reading>;
  /** How `read` reads files, where that is not as they are. */
  readonly readText?: ReadText | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/** Begins with a config that is valid. A later one that is not leaves the last good one in force. */
export function createConfigSource(
  first: { readonly config: Config; readonly files: readonly FileSeen[] },
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

  /** `seen` is what the watch has found, where it asks. */
  async function load(seen: readonly FileSeen[]): Promise<ReloadOutcome> {
    const reading = await readSafely(read);
    if (reading.error && isOvertaken(reading.files, seen)) {
      // Somebody is writing: the watch waits for the end of that, measured by what was before.
      await watch?.follow(files);
      return { kind: 'refused', error: reading.error };
    }
    if (reading.files.length > 0) {
      files = reading.error ? reading.files.map(withGoodLength) : reading.files;
      await watch?.follow(files);
    }
    return reading.error ? refuse(reading.error) : take(reading.config);
  }

  /** What is not valid is no measure for whether the next text is cut. */
  function withGoodLength(seen: FileSeen): FileSeen {
    const before = files.find(({ path }) => path === seen.path);
    return before ? { ...seen, length: before.length } : seen;
  }

  function refuse(error: HubError): ReloadOutcome {
    // A file that stays as it is would else be told of at every look.
    if (refused?.message !== error.message) {
      refused = { at: clock.now(), message: error.message };
      log.error(
        { error: error.message },
        'the config is not valid: the last good one stays in force',
      );
    }
    return { kind: 'refused', error };
  }

  function take(config: Config): ReloadOutcome {
    if (refused) log.info({ file: files[0]?.path }, 'the config is valid again');
    refused = undefined;
    loadedAt = clock.now();
    const before = current;
    const difference = diffConfigs(before, config);
    if (isSameConfig(difference)) return { kind: 'unchanged' };
    current = config;
    const change = { before, after: config, difference };
    changed.fire(change);
    return { kind: 'changed', ...change };
  }

  function run(seen: readonly FileSeen[] = []): Promise<ReloadOutcome> {
    const mine = load(seen).finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  }

  function reload(seen?: readonly FileSeen[]): Promise<ReloadOutcome> {
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

/** Whether what was read is not what was seen just before. */
const isOvertaken = (read: readonly FileSeen[], seen: readonly FileSeen[]) =>
  seen.some(({ path, digest }) => read.some(one => one.path === path && one.digest !== digest));

/** A reload that fails in a way nobody thought of is a refused one, and no end of the hub. */
async function readSafely(read: () => Promise<Reading>): Promise<Reading> {
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
