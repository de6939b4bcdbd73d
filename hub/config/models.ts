import { modelsSchema } from './models-schema.ts';
import { isBaseUrl } from './backends.ts';
import type { Problem } from './problem.ts';
import { type Environment, type SecretValues, expandStrings } from './variables.ts';
import { interpreted } from './schema-parts.ts';

const seconds = 1_000;

type ModelPrice = { readonly prompt: number; readonly completion: number };

/** Options of `models` in the config. */
export type ModelsConfig = Readonly<ReturnType<typeof readModels>['models']>;

/**
 * Converts the options as written, with the variables of providers expanded. Returns the defaults if there are none. A
 * secret that cannot be read does not make the config invalid: only calls to its provider fail.
 */
export function readModels(
  written = modelsSchema.parse({}, interpreted),
  env: Environment = {},
  secrets: SecretValues = new Map(),
) {
  const { default: defaultModel, providers = {} } = written;
  const problems: Problem[] = [];
  const read = Object.entries(providers).map(([name, { url, key, context, parallel, prices }]) => {
    const path = ['models', 'providers', name];
    const address = expandStrings(url, [...path, 'url'], env, secrets);
    const secret = expandStrings(key, [...path, 'key'], env, secrets);
    problems.push(...address.problems, ...address.secretFaults, ...secret.problems);
    const base = String(address.value).replace(/\/+$/, '');
    if (address.unresolved.size === 0 && !isBaseUrl(base))
      problems.push({ path: [...path, 'url'], text: wrongUrl });
    const [fault] = secret.secretFaults;
    const provider = {
      /** URL of the provider's API, without a slash at the end. */
      url: base,
      /** API key (secret). */
      key: fault || key === undefined ? undefined : String(secret.value),
      /** Why the key cannot be read: a sentence with the remedy. */
      keyFault: fault?.text,
      contextTokens: context,
      parallel,
      /** Prices per million tokens by model; `*` stands for all other models. */
      ...(prices && { prices }),
    };
    return [name, provider] as const;
  });
  const first = defaultModel?.split('/')[0];
  if (defaultModel?.endsWith('/'))
    problems.push({
      path: ['models', 'default'],
      text: `names no model: write "${first}/" and the name of a model of ${first}`,
    });
  const models = {
    defaultModel,
    contextTokens: written.context,
    timeoutMs: written.timeout_seconds * seconds,
    silentMs: written.silence_seconds * seconds,
    providers: Object.fromEntries(read),
  };
  return { models, problems };
}

const wrongUrl =
  'is not a base URL: write one with http:// or https://, without user, password, "?" and "#"';

/**
 * Returns the cost of tokens at the prices of the model's provider; 0 for models of Ollama and models without a price.
 */
export function costOf(
  config: Pick<ModelsConfig, 'providers'> | undefined,
  model: string,
  tokens: ModelPrice,
): number {
  const at = model.indexOf('/');
  const name = model.slice(0, Math.max(0, at));
  const prices = Object.hasOwn(config?.providers ?? {}, name)
    ? config?.providers[name]?.prices
    : undefined;
  const named = model.slice(at + 1);
  const key = prices && Object.hasOwn(prices, named) ? named : '*';
  const price = prices && Object.hasOwn(prices, key) ? prices[key] : undefined;
  if (!price) return 0;
  return (tokens.prompt * price.prompt + tokens.completion * price.completion) / 1_000_000;
}
