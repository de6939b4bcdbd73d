import { type HubError, createEmitter, messageOf } from '#core';
import type { WatchTiming } from './file-watch.ts';
import { type ReloaderNeeds, createReloader } from './reloader.ts';
import { type EnhancementRules, type RulesReading, defaultRules, readRules } from './rules.ts';

export type RulesSource = Awaited<ReturnType<typeof openRules>>;
export type RulesStatus = RulesSource['status'];

type Options = WatchTiming & {
  readonly file: string;
  /** False if no setting names the file. The built-in rule is then used while the file does not exist. */
  readonly isRequired: boolean;
};

/**
 * Opens the source of the active rules. As a service of the app, it watches the rules file from `start` to `stop`. If the file later becomes invalid or disappears, the last valid rules stay active. Rejects with
 * HUB_CONFIG_MISSING and HUB_CONFIG_INVALID like `readRules`.
 */
export async function openRules({ file, isRequired, ...timing }: Options, needs: ReloaderNeeds) {
  const { clock, log, readText } = needs;
  const { event, fire } = createEmitter<EnhancementRules>(error =>
    log.error({ error: messageOf(error) }, 'new rules for prompts could not be applied'),
  );
  let current = defaultRules;
  let from: 'file' | 'built_in' = isRequired ? 'file' : 'built_in';
  let loadedAt = clock.now();

  /** Until the file is read for the first time, its absence means the built-in rule. */
  async function read(): Promise<RulesReading> {
    const reading = await readRules(file, { readText });
    return from === 'built_in' && reading.error?.code === 'HUB_CONFIG_MISSING'
      ? { files: reading.files, rules: defaultRules }
      : reading;
  }

  const first = await read();
  if (first.error) throw first.error;
  current = first.rules;
  if (current === defaultRules)
    log.info({ file }, 'there is no rules file for prompts: using the built-in rule');
  else from = 'file';

  const reloader = createReloader<{ readonly rules: EnhancementRules }, HubError | undefined>(
    first.files,
    {
      read,
      apply({ rules, files }, previous) {
        if (rules === defaultRules) return undefined;
        loadedAt = clock.now();
        const isSame = files[0]?.digest === previous.files[0]?.digest;
        if (isSame && !previous.wasRefused) return undefined;
        from = 'file';
        current = rules;
        log.info(
          { file, clients: [...rules.clients.keys()] },
          'the rules for prompts were changed',
        );
        fire(rules);
        return undefined;
      },
      refused: error => error,
      invalidMessage: 'the rules for prompts are invalid: the last valid ones stay active',
    },
    needs,
    timing,
  );

  return {
    /** `reload` resolves with the error if the file is refused. */
    ...reloader.service,
    name: 'rules',
    get current() {
      return current;
    },
    get status() {
      const { files, refusal } = reloader;
      return {
        /** Absolute. */
        file: files[0]?.path,
        /** `built_in`: there is no file. */
        from,
        /** When the active rules were read, in ms since the epoch. */
        loadedAt,
        ...(refusal && { error: refusal }),
      };
    },
    changed: event,
  };
}
