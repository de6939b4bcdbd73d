import { resolve } from 'node:path';
import type { z } from 'zod';
import { type HubError, createEmitter, messageOf } from '#core';
import { type Document, documentOf, readParsed } from './document.ts';
import type { WatchTiming } from './file-watch.ts';
import type { FileReading } from './files.ts';
import { type Problem, invalidFile, problemsOf } from './problem.ts';
import { type ReloaderNeeds, createReloader } from './reloader.ts';
import { clientNamePattern, clientNameRule } from './rule-clients.ts';
import type { WrittenRule, rulesSchema } from './rules-schema.ts';

/** Content of a rules file, with all defaults filled in. */
export type EnhancementRules = Readonly<ReturnType<typeof withDefaults>>;
export type EnhancementRule = EnhancementRules['default'];

type WrittenRules = z.output<typeof rulesSchema>;

const systemPrompt =
  'Make it clear, specific and well structured: say what is wanted and in which form.';

function withDefaults(written: WrittenRules) {
  const base = written.default ?? {};
  const clients = Object.entries(written.clients ?? {});
  const fallbackChain: readonly string[] = (written.fallback_chain ?? []).filter(
    model => model !== null,
  );
  return {
    default: ruleWithDefaults({}, base),
    /** Rules of clients by client name in lower case. */
    clients: new Map(
      clients.map(([name, own]) => [foldClientName(name), ruleWithDefaults(own, base)]),
    ),
    /** Models to try in order if a rule's model returns no result. */
    fallbackChain,
    embeddingModel: written.embedding_model ?? 'nomic-embed-text',
    judgeModel: written.judge_model ?? undefined,
  };
}

/** Fills in missing keys of a rule from `base`, then from the defaults. */
function ruleWithDefaults(own: WrittenRule, base: WrittenRule) {
  const rule = { ...base, ...own };
  const timeouts = { ...base.timeouts, ...own.timeouts };
  const cache = { ...base.cache, ...own.cache };
  const defaultOptions = { temperature: 0.2, num_ctx: 8192, num_predict: 2048, think: false };
  return {
    enabled: rule.enabled ?? true,
    /** Model of the rule. If undefined, that of OLLAMA_MODEL. */
    model: rule.model,
    systemPrompt: rule.system_prompt ?? systemPrompt,
    /** Options of Ollama's API, under its names. */
    options: { ...defaultOptions, ...base.options, ...own.options },
    /** Total time limit in ms, after which the original prompt is returned. */
    totalMs: inMs(timeouts.total ?? 30),
    firstTokenMs: inMs(timeouts.first_token ?? 10),
    /** Time limit for the first token in ms, in place of `firstTokenMs`, if the model has to be loaded first. */
    loadMs: inMs(timeouts.load ?? 20),
    /** When a prompt may use the cached result of another prompt with the same meaning. */
    cacheMode: cache.mode ?? 'guarded',
    /** Similarity threshold. If undefined, CACHE_SIMILARITY_THRESHOLD or a calibrated one applies. */
    threshold: cache.threshold,
    ttlMs: inMs(cache.ttl ?? 86_400),
    /** Maximum length of a result, as a multiple of the prompt's length. */
    maxGrowth: rule.max_growth ?? 8,
    /** Arguments that contain prompts, by public tool name. */
    tools: rule.tools ?? {},
    /** Public names of the prompts whose user messages are improved. */
    prompts: rule.prompts ?? [],
  };
}

const inMs = (seconds: number) => Math.round(seconds * 1000);

export const defaultRules = withDefaults({});

/** A model that the rules name, and what they use it for. */
type NamedModel = {
  readonly model: string;
  readonly use: 'rule' | 'embedding' | 'judge' | 'fallback';
};

/** Returns the models that the rules need, most important first. `usualModel` is used for rules that name none. */
export function modelsOf(rules: EnhancementRules, usualModel: string): readonly NamedModel[] {
  const { fallbackChain, embeddingModel, judgeModel, clients } = rules;
  const chosen = [rules.default, ...clients.values()].filter(({ enabled }) => enabled);
  if (chosen.length === 0) return [];
  const named = (use: NamedModel['use'], ...models: readonly (string | undefined)[]) =>
    models.flatMap(model => (model === undefined ? [] : [{ model, use }]));
  const [first, ...others] = chosen.map(({ model }) => model ?? usualModel);
  // Embedding and judge models compare prompts for the semantic cache.
  const isCached = chosen.some(({ cacheMode }) => cacheMode !== 'off');
  const models = [
    ...named('rule', first),
    ...(isCached ? [...named('embedding', embeddingModel), ...named('judge', judgeModel)] : []),
    ...named('rule', ...others),
    ...named('fallback', ...fallbackChain),
  ];
  return models.filter(({ model }, at) => models.findIndex(other => other.model === model) === at);
}

/** Names under which people know clients, by the names that these send in `initialize`, in lower case. */
const knownAs: ReadonlyMap<string, string> = new Map([
  ['claude-ai', 'claude-desktop'],
  ['claude desktop', 'claude-desktop'],
  ['visual studio code', 'vscode'],
  ['visual studio code - insiders', 'vscode'],
  ['cursor-vscode', 'cursor'],
  ['codex-mcp-client', 'codex'],
  ['windsurf-client', 'windsurf'],
  ['gemini-cli-mcp-client', 'gemini-cli'],
  ['qwen-cli-mcp-client-agenthub', 'qwen-code'],
]);

/**
 * Returns the key of a client's rule: the name that the client sends, or the one under which people know it (Claude
 * Desktop sends `claude-ai`). Undefined if the default rule applies.
 */
export function ruleKeyOf({ clients }: EnhancementRules, client: string): string | undefined {
  const name = foldClientName(client);
  return [name, knownAs.get(name) ?? name].find(key => clients.has(key));
}

/** Returns the rule of a client, or the default rule if the client has none or is unknown. */
export const ruleOf = (rules: EnhancementRules, client: string | undefined): EnhancementRule =>
  rules.clients.get(ruleKeyOf(rules, client ?? '') ?? '') ?? rules.default;

export const foldClientName = (name: string): string => name.trim().toLowerCase();

export const isClientName = (name: string): boolean => clientNamePattern.test(name);

const remedy =
  'Create it with {"default": {"enabled": true}}, or name another file with ENHANCEMENT_RULES_CONFIG';

/** Reads a rules file. Returns errors, does not throw: HUB_CONFIG_MISSING, or HUB_CONFIG_INVALID with all problems. */
export async function readRules(
  file: string,
  { readText }: Pick<ReloaderNeeds, 'readText'> = {},
): Promise<FileReading<{ readonly rules: EnhancementRules }>> {
  const { snapshot, failure, ...parsed } = await readParsed(resolve(file), file, {
    example: '{"default": {}}',
    remedy,
    ...(readText && { readText }),
  });
  const files = [snapshot];
  if (failure) return { files, error: failure.error };
  if (!parsed.root) return { files, error: invalidFile(parsed.problems) };
  const document = documentOf(parsed.root);
  // Loaded on demand, like the schema of the config.
  const { ruleKeys, rulesSchema } = await import('./rules-schema.ts');
  const { data, error } = rulesSchema.safeParse(document.value);
  const found = [
    ...(error ? problemsOf(error.issues, [], ruleKeys) : []),
    ...nameProblems(document),
    ...fallbackProblems(data?.fallback_chain ?? []),
  ];
  const all = [...parsed.problems, ...found.map(document.locate)];
  if (all.length > 0 || !data) return { files, error: invalidFile(all) };
  return { files, rules: withDefaults(data) };
}

/**
 * Returns problems with client names. Reads the names from the document, because the parsed object can lose duplicates.
 */
function nameProblems(document: Document): readonly Problem[] {
  const first = new Map<string, string>();
  return document.keysAt(['clients']).flatMap((name): readonly Problem[] => {
    const path = ['clients', name];
    const folded = foldClientName(name);
    const before = first.get(folded);
    first.set(folded, before ?? name);
    if (!isClientName(name)) return [{ path, text: clientNameRule }];
    if (folded === 'default') return [{ path, text: reservedName }];
    return before === undefined || before === name
      ? []
      : [{ path, text: `is the same client as ${JSON.stringify(before)}: remove one of them` }];
  });
}

const reservedName = 'is the rule for all other clients: write it as "default", next to "clients"';

function fallbackProblems(chain: readonly (string | null)[]): readonly Problem[] {
  const end = chain.indexOf(null);
  if (end < 0 || end === chain.length - 1) return [];
  const text = 'null ends the chain, so the models after it are never tried: write it last';
  return [{ path: ['fallback_chain', end], text }];
}

export type RulesSource = Awaited<ReturnType<typeof openRules>>;
export type RulesStatus = RulesSource['status'];

type Options = WatchTiming & {
  readonly file: string;
  /** True if a setting names the file, which must then exist. Otherwise the built-in rule applies while it does not. */
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

  /** Reads the rules file. Until it is read for the first time, the built-in rule applies if it is missing. */
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
    /** `reload` of the service resolves with the error if the file is refused. */
    ...service,
    name: 'rules',
    get current() {
      return current;
    },
    get status() {
      const { files, ...refusal } = status();
      return {
        file: files[0],
        /** `built_in` if there is no rules file. */
        from,
        /** When the active rules were read, in ms since the epoch. */
        loadedAt,
        ...refusal,
      };
    },
    changed: event,
  };
}
