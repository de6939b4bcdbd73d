import { type RulesSource, defaultRulesFile, openRules } from '#config';
import { type Part, messageOf } from '#core';
import type { PromptHealth, Prompts } from '#http';
import type { Enhancement, EnhancementNeeds, EnhancementOptions } from './enhancement.ts';

/** What improves prompts, as far as it is loaded. */
export type LazyPrompts = Part & {
  readonly rules: RulesSource;
  readonly health: PromptHealth;
  /** Loads it with the first use. */
  open(): Promise<Prompts>;
};

/**
 * Reads the rules, by which nothing happens yet: what improves prompts is loaded with the first of them, or
 * when the hub starts where there is an Ollama, which then loads its model. Rejects as `openRules` does.
 */
export async function createPrompts(
  options: EnhancementOptions,
  needs: Omit<EnhancementNeeds, 'rules'>,
): Promise<LazyPrompts> {
  const { rulesFile, ollama } = options.settings;
  const { clock } = needs;
  const log = needs.log.child({ part: 'prompts' });
  const rules = await openRules(
    { file: rulesFile, isRequired: rulesFile !== defaultRulesFile },
    { clock, log },
  );
  const { current } = rules;
  const named = [current.default, ...current.clients.values()].flatMap(({ tools, prompts }) => [
    ...Object.keys(tools),
    ...Object.keys(prompts),
  ]);
  if (named.length > 0)
    log.warn(
      { named },
      '"tools" and "prompts" of rules have no effect yet: prompts are improved by POST /ollama/enhance',
    );
  let opening: Promise<Enhancement> | undefined;
  const open = () =>
    (opening ??= import('./enhancement.ts').then(({ startEnhancement }) =>
      startEnhancement(options, { ...needs, rules, log }),
    ));

  return {
    name: 'prompts',
    rules,
    health: { rules: () => rules.status, loaded: () => opening },
    open,
    async start(signal) {
      await rules.start(signal);
      if (ollama.url === undefined) return;
      open().catch((error: unknown) =>
        log.error({ error: messageOf(error) }, 'what improves prompts could not be started'),
      );
    },
    async stop() {
      await rules.stop();
      // What did not start has said so, and left nothing.
      await (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}
