import {
  type EnhancementRules,
  type ReloaderNeeds,
  type RulesSource,
  defaultRulesFile,
  isClientName,
  openRules,
  ruleOf,
} from '#config';
import { createEmitter, messageOf } from '#core';
import type { ConfigControl, Prompts } from '#http';
import type { NamedByRules, PromptSource } from '#routing';
import { createLazyPart } from './lazy-part.ts';
import type { ModelAccess } from './wire-models.ts';
import type { EnhancementNeeds, EnhancementOptions } from './wire-enhancement.ts';

/**
 * Reads the rules for improving prompts. With an Ollama, the enhancer is loaded when the hub starts, because Ollama
 * then also loads the model. Otherwise the first prompt loads the enhancer. Rejects like `openRules`.
 */
export async function createPrompts(
  options: EnhancementOptions & {
    /** The default rules file, which may be missing. */
    readonly usualRulesFile?: string | undefined;
  },
  needs: Omit<EnhancementNeeds, 'rules' | 'opened'> &
    Pick<ReloaderNeeds, 'readText'> & { readonly models: Pick<ModelAccess, 'open' | 'opened'> },
) {
  const { usualRulesFile = defaultRulesFile } = options;
  const { rulesFile, ollama } = options.settings;
  const { clock, readText } = needs;
  const log = needs.log.child({ part: 'prompts' });
  const rules = await openRules(
    { file: rulesFile, isRequired: rulesFile !== usualRulesFile },
    { clock, log, readText },
  );
  // HTTP requests arrive until the servers have stopped.
  const { open, opened, stop } = createLazyPart(async () => {
    const { startEnhancement } = await import('./wire-enhancement.ts');
    return await startEnhancement(options, {
      ...needs,
      opened: await needs.models.open(),
      rules,
      log,
    });
  });

  return {
    rules,
    health: {
      rules: () => rules.status,
      loaded: opened,
      models: () => needs.models.opened(),
    },
    /** The tools and prompts that the hub offers to clients, and the improvement of prompts within calls. */
    source: createSource(rules, open, ollama.url !== undefined),
    open,
    async start(signal: AbortSignal): Promise<void> {
      await rules.start(signal);
      if (ollama.url === undefined) return;
      open().catch((error: unknown) =>
        log.error({ error: messageOf(error) }, 'the prompt enhancer could not be started'),
      );
    },
    async stop(): Promise<void> {
      await rules.stop();
      await stop();
    },
  };
}

/** Makes a reload also read the prompt rules, before the config: if the rules are invalid, nothing changes. */
export const withRules = (control: ConfigControl, rules: RulesSource): ConfigControl => ({
  ...control,
  async reload(allow) {
    const refused = await rules.reload();
    if (refused) throw refused;
    return await control.reload(allow);
  },
});

/** Creates the source of improvements. Without Ollama, it offers clients nothing and changes no calls. */
function createSource(
  rules: RulesSource,
  open: () => Promise<Prompts>,
  hasOllama: boolean,
): PromptSource {
  const { event: changed, fire } = createEmitter<void>();
  let isOffered = false;
  let named: NamedByRules | undefined;

  function follow(current: EnhancementRules): void {
    const chosen = [current.default, ...current.clients.values()].filter(rule => rule.enabled);
    const wasOffered = isOffered;
    isOffered = hasOllama && chosen.length > 0;
    const namesAny = chosen.some(
      ({ tools, prompts }) => Object.keys(tools).length + prompts.length > 0,
    );
    named = isOffered && namesAny ? namedBy(current) : undefined;
    if (isOffered !== wasOffered) fire();
  }
  follow(rules.current);
  rules.changed(follow);

  return {
    get isOffered() {
      return isOffered;
    },
    changed,
    get named() {
      return named;
    },
    async enhance({ prompt, client: name }, signal, tell) {
      const client = knownName(name);
      const opened = await open().catch(messageOf);
      if (typeof opened !== 'string')
        return await opened.enhancer.enhance({ prompt, client }, signal, tell);
      const reason = `the prompt enhancer could not be started: ${opened}`;
      const about = { client: client ?? 'default', rule: 'default', tookMs: 0 };
      return { prompt, enhanced: false, source: 'unchanged', reason, ...about };
    },
  };
}

/** Returns the name of a client as in the rules; undefined if no rule can have this name. */
const knownName = (name: string | undefined) =>
  name !== undefined && isClientName(name.trim()) ? name.trim() : undefined;

function namedBy(rules: EnhancementRules): NamedByRules {
  function ruleFor(client: string | undefined) {
    const rule = ruleOf(rules, knownName(client));
    return rule.enabled ? rule : undefined;
  }
  return {
    argumentsOf(tool, client) {
      const tools = ruleFor(client)?.tools;
      return tools && Object.hasOwn(tools, tool) ? tools[tool] : undefined;
    },
    improves: (prompt, client) => ruleFor(client)?.prompts.includes(prompt) ?? false,
  };
}
