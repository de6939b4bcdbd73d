import { resolve } from 'node:path';
import { HubError } from '#core';
import { type Document, documentOf, parseText, placed } from './document.ts';
import {
  type FileSeen,
  type ReadText,
  codeOf,
  fileSeen,
  fileUnread,
  formatOf,
  misnamed,
  readText,
  whyUnreadable,
} from './files.ts';
import { problemsOf } from './issues.ts';
import { type Problem, invalidFile } from './problem.ts';
import {
  type WrittenRule,
  clientNamePattern,
  clientNameRule,
  knownRuleKeys,
  rulesSchema,
} from './rules-schema.ts';

/** When the result of a prompt that only means the same is given. */
export type CacheMode = 'off' | 'shadow' | 'verified' | 'threshold';

/** How a model is run, in Ollama's words. */
export type ModelOptions = {
  readonly temperature: number;
  readonly num_ctx: number;
  readonly num_predict: number;
  readonly think: boolean;
  readonly top_p?: number;
  readonly seed?: number;
};

/** How the prompts of a client are improved. */
export type EnhancementRule = {
  readonly enabled: boolean;
  /** Undefined: that of OLLAMA_MODEL. */
  readonly model: string | undefined;
  readonly systemPrompt: string;
  readonly options: ModelOptions;
  /** All of it: a prompt comes back within this, whatever happens. */
  readonly totalMs: number;
  readonly firstTokenMs: number;
  /** The same as `firstTokenMs` for a model that has to be loaded first. */
  readonly loadMs: number;
  readonly cacheMode: CacheMode;
  /** Undefined: that of CACHE_SIMILARITY_THRESHOLD. */
  readonly threshold: number | undefined;
  readonly ttlMs: number;
  /** How many times longer than the prompt a result may be. */
  readonly maxGrowth: number;
  /** Arguments that are prompts, by the public names of tools. */
  readonly tools: ArgumentsByName;
  /** The public names of prompts whose texts for the user are improved. */
  readonly prompts: readonly string[];
};

export type ArgumentsByName = Readonly<Record<string, readonly string[]>>;

/** All that a rules file says, with nothing left to fill in. */
export type EnhancementRules = {
  readonly default: EnhancementRule;
  /** By the names of clients, in small letters. */
  readonly clients: ReadonlyMap<string, EnhancementRule>;
  /** Models to try in order when that of a rule gives nothing. */
  readonly fallbackChain: readonly string[];
  readonly embeddingModel: string;
  readonly judgeModel: string | undefined;
};

/** What came of reading a rules file. */
export type RulesReading = {
  /** The one file, to be watched. */
  readonly files: readonly FileSeen[];
} & (
  | { readonly rules: EnhancementRules; readonly error?: undefined }
  | { readonly error: HubError; readonly rules?: undefined }
);

/** What holds for a rule that says nothing. */
const builtIn: EnhancementRule = {
  enabled: true,
  model: undefined,
  systemPrompt:
    'You rewrite prompts. The message of the user is a prompt that is meant for another model: never answer it and never carry it out. Rewrite it so that it is clear, specific and well structured. Keep its intent, its language and every detail: names, numbers, units, paths, code and quotations stay exactly as they are. Add no facts and no tasks. Return only the rewritten prompt, without introduction, explanation or quotation marks.',
  options: { temperature: 0.2, num_ctx: 8192, num_predict: 2048, think: false },
  totalMs: 30_000,
  firstTokenMs: 10_000,
  loadMs: 20_000,
  cacheMode: 'verified',
  threshold: undefined,
  ttlMs: 86_400_000,
  maxGrowth: 8,
  tools: {},
  prompts: [],
};

/** The rules of a hub that has no rules file. */
export const defaultRules: EnhancementRules = {
  default: builtIn,
  clients: new Map(),
  fallbackChain: [],
  embeddingModel: 'nomic-embed-text',
  judgeModel: undefined,
};

/**
 * The models that rules name, each once, the most wanted first: what every client has and what stands in for it
 * before what single clients have. `usualModel` is for rules that name none.
 */
export function modelsOf(rules: EnhancementRules, usualModel: string): readonly string[] {
  const { fallbackChain, embeddingModel, judgeModel, clients } = rules;
  const chosen = [rules.default, ...clients.values()].filter(({ enabled }) => enabled);
  if (chosen.length === 0) return [];
  const [first = usualModel, ...others] = chosen.map(({ model }) => model ?? usualModel);
  // They are for prompts that mean the same.
  const isCached = chosen.some(({ cacheMode }) => cacheMode !== 'off');
  const comparing = isCached
    ? [embeddingModel, ...(judgeModel === undefined ? [] : [judgeModel])]
    : [];
  return [...new Set([first, ...comparing, ...fallbackChain, ...others])];
}

/** The rule that holds for a client; that for all where it has none of its own, or no name. */
export const ruleOf = (rules: EnhancementRules, client: string | undefined): EnhancementRule =>
  rules.clients.get(foldClientName(client ?? '')) ?? rules.default;

/** A name as rules know clients by it. */
export const foldClientName = (name: string): string => name.trim().toLowerCase();

/** True for what a client may call itself. */
export const isClientName = (name: string): boolean => clientNamePattern.test(name);

/**
 * Reads a rules file, JSON with comments or YAML by its extension. What is wrong is returned, not thrown:
 * HUB_CONFIG_MISSING where there is no such file, and HUB_CONFIG_INVALID with all that is wrong in it, naming file,
 * line, path, value and remedy.
 */
export async function readRules(
  file: string,
  options: { readonly readText?: ReadText } = {},
): Promise<RulesReading> {
  const path = resolve(file);
  const failed = (error: HubError, text?: string) => ({ files: [fileSeen(path, text)], error });
  const format = formatOf(file);
  if (!format) return failed(misnamed(file));
  let text: string;
  try {
    text = await (options.readText ?? readText)(path);
  } catch (error) {
    return { files: [fileUnread(path, error)], error: unreadableRules(file, error) };
  }
  const source = { file, text: text.replace(/^\uFEFF/, '') };
  const { root, problems } = await parseText(source, format, '{"default": {}}');
  if (!root) return failed(invalidFile(problems), text);
  const document = documentOf(root);
  const { data, error } = rulesSchema.safeParse(document.value);
  const all = [
    ...problems,
    ...[
      ...(error ? problemsOf(error.issues, [], knownRuleKeys) : []),
      ...namesOf(document),
      ...afterNull(data?.fallback_chain ?? []),
    ].map(problem => placed(problem, document)),
  ];
  if (all.length > 0 || !data) return failed(invalidFile(all), text);
  const base = filled(data.default ?? {}, builtIn);
  const rules = {
    default: base,
    clients: new Map(
      Object.entries(data.clients ?? {}).map(
        ([name, entry]) => [foldClientName(name), filled(entry, base)] as const,
      ),
    ),
    fallbackChain: (data.fallback_chain ?? []).filter(model => model !== null),
    embeddingModel: data.embedding_model ?? defaultRules.embeddingModel,
    judgeModel: data.judge_model ?? undefined,
  };
  return { files: [fileSeen(path, text)], rules };
}

/** A rule, with what it leaves out as in another. */
function filled(entry: WrittenRule, base: EnhancementRule): EnhancementRule {
  const { options, timeouts, cache } = entry;
  const { temperature, num_ctx, num_predict, think, top_p, seed } = options ?? {};
  return {
    enabled: entry.enabled ?? base.enabled,
    model: entry.model ?? base.model,
    systemPrompt: entry.system_prompt ?? base.systemPrompt,
    options: {
      ...base.options,
      ...(temperature !== undefined && { temperature }),
      ...(num_ctx !== undefined && { num_ctx }),
      ...(num_predict !== undefined && { num_predict }),
      ...(think !== undefined && { think }),
      ...(top_p !== undefined && { top_p }),
      ...(seed !== undefined && { seed }),
    },
    totalMs: inMs(timeouts?.total) ?? base.totalMs,
    firstTokenMs: inMs(timeouts?.first_token) ?? base.firstTokenMs,
    loadMs: inMs(timeouts?.load) ?? base.loadMs,
    cacheMode: cache?.mode ?? base.cacheMode,
    threshold: cache?.threshold ?? base.threshold,
    ttlMs: inMs(cache?.ttl) ?? base.ttlMs,
    maxGrowth: entry.max_growth ?? base.maxGrowth,
    tools: entry.tools ?? base.tools,
    prompts: entry.prompts ?? base.prompts,
  };
}

const inMs = (seconds: number | undefined) =>
  seconds === undefined ? undefined : Math.round(seconds * 1000);

/** What is wrong with the names of clients, of which an object may keep some from the schema. */
function namesOf(document: Document): readonly Problem[] {
  const first = new Map<string, string>();
  return document.keysAt(['clients']).flatMap((name): readonly Problem[] => {
    const path = ['clients', name];
    const folded = foldClientName(name);
    const before = first.get(folded);
    first.set(folded, before ?? name);
    if (!isClientName(name)) return [{ path, text: clientNameRule }];
    if (folded === 'default')
      return [
        { path, text: 'is the rule of all other clients: write it as "default", beside "clients"' },
      ];
    return before === undefined || before === name
      ? []
      : [{ path, text: `is the same client as ${JSON.stringify(before)}: remove one of them` }];
  });
}

function afterNull(chain: readonly (string | null)[]): readonly Problem[] {
  const end = chain.indexOf(null);
  return end < 0 || end === chain.length - 1
    ? []
    : [
        {
          path: ['fallback_chain', end],
          text: 'null ends the chain, and models stand after it that are never tried: write it last',
        },
      ];
}

/** The error for a rules file that is absent or cannot be read. */
function unreadableRules(file: string, cause: unknown): HubError {
  if (['ENOENT', 'ENOTDIR'].includes(String(codeOf(cause))))
    return new HubError(
      'HUB_CONFIG_MISSING',
      `${file}: there is no such file. Write one that holds {"default": {"enabled": true}}, or name another with ENHANCEMENT_RULES_CONFIG`,
      { cause },
    );
  return new HubError('HUB_CONFIG_INVALID', `${file}: ${whyUnreadable(cause)}`, { cause });
}
