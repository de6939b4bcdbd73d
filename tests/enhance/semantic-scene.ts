import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent, systemClock } from '#core';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { type Models, createModels } from '#models';
import { createBreaker } from '#resilience';
import { createTable } from '#store';
import { type Vectors, createEmbeddedVectors } from '#vectors';
import type { Judge } from '../../hub/enhance/judge.ts';
import {
  type Lookup,
  type SemanticCache,
  type SemanticOptions,
  createSemanticCache,
} from '../../hub/enhance/semantic.ts';
import { type OllamaDouble, startOllama } from '../doubles/ollama.ts';

/** Signal that never aborts. */
export const never = new AbortController().signal;

/** Semantic cache over real vectors, and an Ollama double without real models. */
export type SemanticScene = AsyncDisposable & {
  readonly ollama: OllamaDouble;
  readonly models: Models;
  readonly vectors: Vectors;
  readonly clock: ManualClock;
  readonly cache: SemanticCache;
  /** Creates another cache over the same vectors and tables. */
  another(judge?: Judge, options?: Partial<SemanticOptions>): SemanticCache;
  find(prompt: string, lookup?: Partial<Lookup>): ReturnType<SemanticCache['find']>;
  store(
    prompt: string,
    value?: string,
    bounds?: { readonly scope?: string; readonly tag?: string; readonly ttlMs?: number },
  ): Promise<string | undefined>;
};

/** Lookup for which every stored prompt is a candidate, however little alike, so that the threshold decides nothing. */
export const lookup: Lookup = {
  scope: 'scope',
  mode: 'verified',
  threshold: { value: -1, from: 'rule' },
};

/** Creates tables in memory. */
export function openTables() {
  const open = () => createTable({ file: undefined, maxEntries: 1_000 }, { log: silent });
  return { thresholds: open(), judgements: open() };
}

export async function openSemantic(
  judge?: Judge,
  options: Partial<SemanticOptions> = {},
): Promise<SemanticScene> {
  const stack = new AsyncDisposableStack();
  const ollama = stack.use(await startOllama());
  const clock = createManualClock();
  const breaker = stack.use(
    createBreaker({ failureThreshold: 100, recoveryMs: 1_000, trialMs: 1_000 }, systemClock),
  );
  const models = createModels(
    { url: ollama.url },
    { clock: systemClock, log: silent, fetch, breaker },
  );
  stack.defer(() => models.stop());
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-semantic-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const vectors = createEmbeddedVectors(join(folder, 'vectors.sqlite'), { clock, log: silent });
  await vectors.start(never);
  stack.defer(() => vectors.stop());
  const tables = openTables();
  const another: SemanticScene['another'] = (other, changes) => {
    const cache = createSemanticCache(
      { embeddingModel: 'nomic-embed-text', ...options, ...changes },
      { models, vectors, judge: other, tables, clock, log: silent },
    );
    stack.defer(() => cache.stop());
    return cache;
  };
  const cache = another(judge);
  return {
    ollama,
    models,
    vectors,
    clock,
    cache,
    another,
    find: (prompt, changes = {}) => cache.find(prompt, { ...lookup, ...changes }, never),
    store(prompt, value = `better: ${prompt}`, bounds = {}) {
      const { scope = 'scope', tag = 'default', ttlMs = 60_000 } = bounds;
      return cache.store({ prompt, value }, { scope, tag, ttlMs }, never);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Advances the clock until no pair waits for the judge. */
export async function untilIdle({
  cache,
  clock,
}: Pick<SemanticScene, 'cache' | 'clock'>): Promise<void> {
  while ((await cache.stats()).waiting > 0) {
    clock.advance(5_000);
    await new Promise(resolve => setImmediate(resolve));
  }
}
