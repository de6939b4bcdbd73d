// Loads the package early. Otherwise its import at the first call would exceed the short timeouts of tests.
import 'ollama';
import { type ExactCache, createMemoryCache } from '#cache';
import { type Clock, systemClock } from '#core';
import {
  type EnhanceRequest,
  type Enhancement,
  type Enhancer,
  type SemanticCache,
  createEnhancer,
  createSemanticSource,
} from '#enhance';
import { type Logged, createRecordingLog } from '#helpers/recording-log';
import { type Models, createModels } from '#models';
import { type Breaker, createBreaker } from '#resilience';
import { type OllamaDouble, type OllamaDoubleOptions, startOllama } from '../doubles/ollama.ts';
import { type RulesChanges, rulesOf } from './rules-of.ts';

/** Signal that never aborts. */
export const never = new AbortController().signal;

export const roomy = { maxEntries: 1000, maxBytes: 2 ** 24 } as const;

type SceneOptions = RulesChanges & {
  readonly exact?: ExactCache;
  /** URL of another Ollama than the scene's own; if undefined, there is no Ollama. */
  readonly url?: string | undefined;
  readonly ollama?: OllamaDoubleOptions;
  readonly semantic?: (models: Models) => SemanticCache;
  readonly failureThreshold?: number;
  readonly clock?: Clock;
};

/** Enhancer over an Ollama, until disposed. */
export type Scene = AsyncDisposable & {
  readonly ollama: OllamaDouble;
  readonly models: Models;
  readonly breaker: Breaker;
  readonly exact: ExactCache;
  readonly enhancer: Enhancer;
  readonly logged: readonly Logged[];
  /** Replaces the rules. */
  follow(changes: RulesChanges): void;
  enhance(
    prompt: string,
    more?: Omit<EnhanceRequest, 'prompt'>,
    signal?: AbortSignal,
  ): Promise<Enhancement>;
  /** Returns the models that were asked for completions, in order. */
  asked(): readonly string[];
  /** Number of unanswered requests to Ollama, besides those for which a model is working. */
  readonly questions: number;
};

/**
 * Returns the models that an Ollama was asked for completions, in order. Requests that only load a model do not count.
 */
export const askedOf = (ollama: OllamaDouble): readonly string[] =>
  ollama
    .received('/api/chat')
    .filter(({ body }) => Array.isArray(body['messages']) && body['messages'].length > 0)
    .map(({ body }) => String(body['model']));

export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { failureThreshold = 100, clock = systemClock } = options;
  const stack = new AsyncDisposableStack();
  const ollama = stack.use(
    await startOllama({
      models: ['llama3.2:3b', 'phi3:mini', 'nomic-embed-text'],
      ...options.ollama,
    }),
  );
  const { log, logged } = createRecordingLog();
  const breaker = stack.use(
    createBreaker({ failureThreshold, recoveryMs: 30_000, trialMs: 60_000 }, clock),
  );
  const url = 'url' in options ? options.url : ollama.url;
  let questions = 0;
  const countingFetch = async (input: string | URL | Request, init?: RequestInit) => {
    if (/\/api\/(?:chat|embed)$/.test(input instanceof Request ? input.url : String(input)))
      return await fetch(input, init);
    questions++;
    try {
      const response = await fetch(input, init);
      return new Response(await response.arrayBuffer(), response);
    } finally {
      questions--;
    }
  };
  const models = createModels({ url }, { clock, log, fetch: countingFetch, breaker });
  stack.defer(() => models.stop());
  const exact = options.exact ?? createMemoryCache(roomy, { clock });
  let rules = rulesOf(options);
  const cache = options.semantic?.(models);
  const semantic =
    cache &&
    createSemanticSource(
      { threshold: undefined },
      { rules: () => rules, load: async () => cache, clock, log },
    );
  const enhancer = createEnhancer(
    { rules: () => rules, model: 'deepseek-r1:latest' },
    { models, exact, semantic, clock, log },
  );
  stack.defer(() => enhancer.stop());
  return {
    ollama,
    models,
    breaker,
    exact,
    enhancer,
    logged,
    follow: changes => void (rules = rulesOf(changes)),
    enhance: (prompt, more = {}, signal = never) => enhancer.enhance({ prompt, ...more }, signal),
    asked: () => askedOf(ollama),
    get questions() {
      return questions;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
