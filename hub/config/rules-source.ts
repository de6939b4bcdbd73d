import { type HubError, createEmitter, messageOf } from '#core';
import type { WatchTiming } from './file-watch.ts';
import { type ReloaderNeeds, createReloader } from './reloader.ts';
import { type EnhancementRules, defaultRules, readRules } from './rules.ts';

export type RulesSource = Awaited<ReturnType<typeof openRules>>;
export type RulesStatus = RulesSource['status'];

type Options = WatchTiming & {
  readonly file: string;
  /** False if no setting names the file. The built-in rule is then used while the file does not exist. */
  readonly isRequired: boolean;
};

/**
 * Opens the source of the active rules. As a service of the app, it watches the rules file from `start` to `stop`. If
 * the file becomes invalid or disappears, the last valid rules stay active. Rejects with the errors of `readRules`.
 */
export async function openRules({ file, isRequired, ...timing }: Options, needs: ReloaderNeeds) {
  const { clock, log } = needs;
  const { event, fire } = createEmitter<EnhancementRules>(error =>
    log.error({ error: messageOf(error) }, 'new rules for prompts could not be applied'),
  );
  let from: 'file' | 'built_in' = isRequired ? 'file' : 'built_in';
  let loadedAt = clock.now();

  /** Until the file is read for the first time, its absence means the built-in rule. */
  async function read() {
    const reading = await readRules(file, needs);
    return from === 'built_in' && reading.error?.code === 'HUB_CONFIG_MISSING'
      ? { files: reading.files, rules: defaultRules }
      : reading;
  }

  const first = await read();
  if (first.error) throw first.error;
  let current = first.rules;
  if (current === defaultRules)
    log.info({ file }, 'there is no rules file for prompts: using the built-in rule');
  else from = 'file';

  const { status, service } = createReloader<
    { readonly rules: EnhancementRules },
    HubError | undefined
  >(first.files, timing, {
    ...needs,
    read,
    apply({ rules }, { isChanged }) {
      if (rules === defaultRules) return undefined;
      loadedAt = clock.now();
      if (!isChanged) return undefined;
      from = 'file';
      current = rules;
      log.info({ file, clients: [...rules.clients.keys()] }, 'the rules for prompts were changed');
      fire(rules);
      return undefined;
    },
    refused: error => error,
    invalidMessage: 'the rules for prompts are invalid: the last valid ones stay active',
  });

  return {
    /** `reload` resolves with the error if the file is refused. */
    ...service,
    name: 'rules',
    get current() {
      return current;
    },
    get status() {
      const { files, ...refusal } = status();
      return {
        file: files[0],
        /** `built_in`: there is no file. */
        from,
        /** When the active rules were read, in ms since the epoch. */
        loadedAt,
        ...refusal,
      };
    },
    changed: event,
  };
}
