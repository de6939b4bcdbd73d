import {
  type Clock,
  type Event,
  type Log,
  type Service,
  HubError,
  createEmitter,
  messageOf,
} from '#core';
import type { FileWatch, FileWatchOptions } from './file-watch.ts';
import type { ReadText } from './files.ts';
import { type EnhancementRules, type RulesReading, defaultRules, readRules } from './rules.ts';
import { watchFiles } from './watch-files.ts';

export type RulesStatus = {
  /** Absolute. */
  readonly file: string | undefined;
  /** `built_in`: there was no file. */
  readonly from: 'file' | 'built_in';
  /** When the rules in force were read. In milliseconds since the epoch. */
  readonly loadedAt: number;
  /** Why what the file says now is not in force, and since when. */
  readonly error?: { readonly at: number; readonly message: string };
};

/** The rules in force. As a service of the app it watches their file from `start` to `stop`. */
export interface RulesSource extends Service {
  readonly current: EnhancementRules;
  readonly status: RulesStatus;
  readonly changed: Event<EnhancementRules>;
  /**
   * Reads the file now, after the reading that runs; all who ask meanwhile share one. Resolves with the error
   * that refuses it. Never rejects.
   */
  reload(): Promise<HubError | undefined>;
}

type Options = Partial<FileWatchOptions> & {
  readonly file: string;
  /** False where nobody has named the file: the hub does without, until there is one. */
  readonly isRequired: boolean;
};

/** What reads rules. */
export type RulesNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** How files are read, where that is not as they are. */
  readonly readText?: ReadText | undefined;
};

/**
 * Reads the rules; a later file that is not valid, or gone, leaves the last good ones in force. Rejects with
 * HUB_CONFIG_MISSING and HUB_CONFIG_INVALID, as `readRules` says.
 */
export async function openRules(options: Options, needs: RulesNeeds): Promise<RulesSource> {
  const { clock, log, readText } = needs;
  const reader = readText ? { readText } : {};
  const { file, isRequired, ...watching } = options;
  const { event, fire } = createEmitter<EnhancementRules>(error =>
    log.error({ error: messageOf(error) }, 'new rules for prompts could not be applied'),
  );
  const first = await readRules(file, reader);
  const isAbsent = first.error?.code === 'HUB_CONFIG_MISSING' && !isRequired;
  if (first.error && !isAbsent) throw first.error;
  if (isAbsent) log.info({ file }, 'there is no file of rules for prompts: the built-in one holds');
  let current = first.rules ?? defaultRules;
  let from: RulesStatus['from'] = first.rules ? 'file' : 'built_in';
  let { files } = first;
  let loadedAt = clock.now();
  let refused: RulesStatus['error'];
  let watch: FileWatch | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<HubError | undefined> | undefined;

  async function load(): Promise<HubError | undefined> {
    const reading: RulesReading = await readRules(file, reader);
    const isSame = reading.files[0]?.digest === files[0]?.digest;
    files = reading.files;
    await watch?.follow(files);
    if (from === 'built_in' && reading.error?.code === 'HUB_CONFIG_MISSING') {
      // There may have been one that was not valid.
      refused = undefined;
      return undefined;
    }
    return reading.error ? refuse(reading.error) : take(reading.rules, isSame);
  }

  function refuse(error: HubError): HubError {
    // A file that stays as it is would else be told of at every look.
    if (refused?.message !== error.message) {
      refused = { at: clock.now(), message: error.message };
      log.error(
        { error: error.message },
        'the rules for prompts are not valid: the last good ones stay in force',
      );
    }
    return error;
  }

  function take(rules: EnhancementRules, isSame: boolean): undefined {
    const wasRefused = refused !== undefined;
    refused = undefined;
    loadedAt = clock.now();
    if (isSame && !wasRefused) return;
    from = 'file';
    current = rules;
    log.info({ file, clients: [...rules.clients.keys()] }, 'the rules for prompts were changed');
    fire(rules);
  }

  function reload(): Promise<HubError | undefined> {
    if (next) return next;
    const mine = running
      .then(() => {
        next = undefined;
        return load();
      })
      .catch((error: unknown) =>
        refuse(
          error instanceof HubError
            ? error
            : new HubError('HUB_INTERNAL', messageOf(error), { cause: error }),
        ),
      );
    next = mine;
    running = mine;
    return mine;
  }

  return {
    name: 'rules',
    get current() {
      return current;
    },
    get status() {
      return { file: files[0]?.path, from, loadedAt, ...(refused && { error: refused }) };
    },
    changed: event,
    reload,
    async start() {
      watch = watchFiles(watching, {
        clock,
        log,
        readText,
        async onChange() {
          await reload();
        },
      });
      await watch.follow(files);
    },
    async stop() {
      await watch?.[Symbol.asyncDispose]();
      watch = undefined;
      await running;
    },
  };
}
