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
  /** `built_in`: there is no file. */
  readonly from: 'file' | 'built_in';
  /** When the active rules were read, in ms since the epoch. */
  readonly loadedAt: number;
  /** Why the current file is not applied, and since when. */
  readonly error?: { readonly at: number; readonly message: string };
};

/** The active rules. As a service of the app, it watches the rules file from `start` to `stop`. */
export interface RulesSource extends Service {
  readonly current: EnhancementRules;
  readonly status: RulesStatus;
  readonly changed: Event<EnhancementRules>;
  /**
   * Reads the file again. Calls during a running read share one further read. Resolves with the error if the file is
   * refused. Never rejects.
   */
  reload(): Promise<HubError | undefined>;
}

type Options = Partial<FileWatchOptions> & {
  readonly file: string;
  /** False if no setting names the file. The built-in rule is then used while the file does not exist. */
  readonly isRequired: boolean;
};

/** What `openRules` needs. */
export type RulesNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Replaces the default file reader. */
  readonly readText?: ReadText | undefined;
};

/**
 * Reads the rules. If the file later becomes invalid or disappears, the last valid rules stay active. Rejects with
 * HUB_CONFIG_MISSING and HUB_CONFIG_INVALID like `readRules`.
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
  if (isAbsent) log.info({ file }, 'there is no rules file for prompts: using the built-in rule');
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
      // An invalid file may have been reported before.
      refused = undefined;
      return undefined;
    }
    return reading.error ? refuse(reading.error) : applyRules(reading.rules, isSame);
  }

  function refuse(error: HubError): HubError {
    // Report an unchanged error only once, not at every check.
    if (refused?.message !== error.message) {
      refused = { at: clock.now(), message: error.message };
      log.error(
        { error: error.message },
        'the rules for prompts are invalid: the last valid ones stay active',
      );
    }
    return error;
  }

  function applyRules(rules: EnhancementRules, isSame: boolean): undefined {
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
    const result = running
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
    next = result;
    running = result;
    return result;
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
