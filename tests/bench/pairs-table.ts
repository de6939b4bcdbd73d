// npm run bench -- pairs <url of an Ollama> [embedding model] [--half tuning|frozen|both]: how often the semantic cache
// matches prompts of the same meaning, and of different meaning, with real embeddings.
// tests/bench/real-embeddings/serve.py, which includes a small model, can replace Ollama.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Clock, isObject, silent, systemClock } from '#core';
import { type Models, createModels } from '#models';
import { createBreaker } from '#resilience';
import { createTable } from '#store';
import { type Vectors, createEmbeddedVectors } from '#vectors';
import { type Verdict, compareGuarded } from '../../hub/enhance/guards.ts';
import type { Judge } from '../../hub/enhance/judge.ts';
import {
  type Lookup,
  type SemanticCache,
  type SemanticMode,
  createSemanticCache,
} from '../../hub/enhance/semantic.ts';

/** Two prompts, and whether one answer would serve both. */
export type PromptPair = {
  readonly category: string;
  readonly a: string;
  readonly b: string;
  readonly same: boolean;
  /** Guards are developed with the tuning half; published numbers come from the frozen half. */
  readonly half: 'tuning' | 'frozen';
};

/** How the cache decides whether the second prompt of a pair matches the first. */
export type Policy = {
  readonly name: string;
  readonly mode: SemanticMode;
  /** Similarity threshold. Default: the calibrated one. */
  readonly threshold?: number;
  readonly judge?: Judge;
};

/** Number of matches among the pairs of a category. */
type Cell = { readonly hits: number; readonly of: number };
export type Column = { readonly name: string; readonly cells: ReadonlyMap<string, Cell> };

type Needs = {
  readonly models: Pick<Models, 'embed' | 'metrics'>;
  readonly vectors: Vectors;
  readonly clock: Clock;
  readonly embeddingModel: string;
};

const pairFiles = [
  'prompt-pairs',
  'prompt-pairs-develop',
  'prompt-pairs-develop-2',
  'prompt-pairs-held-out',
  'prompt-pairs-held-out-2',
  'prompt-pairs-blind',
  'prompt-pairs-blind-2',
  'prompt-pairs-blind-3',
  'prompt-pairs-blind-4',
  'prompt-pairs-blind-5',
  'prompt-pairs-blind-6',
  'prompt-pairs-blind-7',
  'prompt-pairs-blind-8',
  'prompt-pairs-blind-9',
  'prompt-pairs-blind-10',
  'prompt-pairs-blind-11',
  'prompt-pairs-blind-12',
  'prompt-pairs-blind-13',
  'prompt-pairs-blind-14',
  'prompt-pairs-blind-15',
  'prompt-pairs-blind-16',
  'prompt-pairs-blind-17',
  'prompt-pairs-blind-18',
  'prompt-pairs-blind-19',
  'prompt-pairs-blind-20',
  'prompt-pairs-blind-21',
  'prompt-pairs-blind-22',
  'prompt-pairs-blind-23',
  'prompt-pairs-blind-24',
  'prompt-pairs-blind-25',
  'prompt-pairs-blind-26',
  'prompt-pairs-blind-27',
  'prompt-pairs-blind-28',
  'prompt-pairs-blind-29',
  'prompt-pairs-blind-30',
  'prompt-pairs-blind-31',
  'prompt-pairs-blind-32',
  'prompt-pairs-blind-33',
  'prompt-pairs-blind-34',
  'prompt-pairs-blind-35',
  'prompt-pairs-blind-36',
  'prompt-pairs-blind-37',
  'prompt-pairs-blind-38',
  'prompt-pairs-blind-39',
  'prompt-pairs-blind-40',
  'prompt-pairs-blind-41',
  'prompt-pairs-blind-42',
  'prompt-pairs-blind-43',
  'prompt-pairs-blind-44',
  'prompt-pairs-blind-45',
  'prompt-pairs-blind-46',
  'prompt-pairs-blind-47',
  'prompt-pairs-blind-48',
  'prompt-pairs-blind-49',
  'prompt-pairs-blind-50',
  'prompt-pairs-blind-51',
  'prompt-pairs-blind-52',
  'prompt-pairs-blind-53',
  'prompt-pairs-blind-54',
  'prompt-pairs-blind-55',
  'prompt-pairs-blind-56',
  'prompt-pairs-blind-57',
  'prompt-pairs-blind-58',
  'prompt-pairs-blind-59',
  'prompt-pairs-blind-60',
  'prompt-pairs-blind-61',
  'prompt-pairs-blind-62',
  'prompt-pairs-notations',
  'prompt-pairs-notations-2',
] as const;

/** Reads the pairs of the files `prompt-pairs*` in tests/data. */
export function readPairs(
  files: readonly (typeof pairFiles)[number][] = pairFiles,
): readonly PromptPair[] {
  return files.flatMap(name => {
    const file = join(import.meta.dirname, '..', 'data', `${name}.json`);
    const rows: unknown = JSON.parse(readFileSync(file, 'utf8'));
    assert.ok(Array.isArray(rows));
    const pairs = rows.map((row: unknown) =>
      isObject(row) ? { half: row['split'] === 'develop' ? 'tuning' : 'frozen', ...row } : row,
    );
    assert.ok(pairs.every(isPair));
    return pairs;
  });
}

function isPair(value: unknown): value is PromptPair {
  if (!isObject(value)) return false;
  const { category, a, b, same, half } = value;
  return (
    [category, a, b].every(text => typeof text === 'string') &&
    typeof same === 'boolean' &&
    (half === 'tuning' || half === 'frozen')
  );
}

const known = new Map<string, Verdict>();

/** Returns the verdict of the guards. Each pair is compared only once. */
export function verdictOf({ a, b }: PromptPair): Verdict {
  const key = JSON.stringify([a, b]);
  const verdict = known.get(key) ?? compareGuarded(a, b).verdict;
  known.set(key, verdict);
  return verdict;
}

/** Returns the pairs to which the guards alone, without embeddings, give one of these verdicts. */
export function guardsAlone(
  pairs: readonly PromptPair[],
  verdicts: readonly Verdict[] = ['same', 'alike'],
): Column {
  return columnOf(
    'guards alone',
    pairs.map(pair => [pair, verdicts.includes(verdictOf(pair))]),
  );
}

/** Measures the matches of the semantic cache. Each pair has its own scope, so that only its two prompts can match. */
export async function measure(
  pairs: readonly PromptPair[],
  policy: Policy,
  { models, vectors, clock, embeddingModel }: Needs,
): Promise<Column> {
  const { name, mode, threshold, judge } = policy;
  const open = () => createTable({ file: undefined, maxEntries: 1_000 }, { log: silent });
  const tables = { thresholds: open(), judgements: open() };
  /** Without delays in background work. */
  const hurried: Clock = { ...clock, after: (_delayMs, work) => clock.after(0, work) };
  const cache = createSemanticCache(
    { embeddingModel },
    { models, vectors, judge, tables, clock: hurried, log: silent },
  );
  const { signal } = new AbortController();
  const results: [PromptPair, boolean][] = [];
  for (const [at, pair] of pairs.entries()) {
    const scope = `${name} ${at}`;
    const bounds = { scope, tag: 'pairs', ttlMs: 3_600_000 };
    const refused = await cache.store(
      { prompt: pair.a, value: 'made for the first' },
      bounds,
      signal,
    );
    assert.equal(refused, undefined);
    const lookup: Lookup = {
      scope,
      mode,
      threshold: threshold === undefined ? undefined : { value: threshold, from: 'rule' },
    };
    const find = async () => (await cache.find(pair.b, lookup, signal)).kind === 'hit';
    // Calibration and judge work in the background, and their result is used at the next lookup.
    const isFirst = await find();
    while (await isBusy(cache)) await setTimeout(1);
    results.push([pair, isFirst || (await find())]);
  }
  cache.stop();
  return columnOf(name, results);
}

async function isBusy(cache: SemanticCache): Promise<boolean> {
  const { waiting, calibration } = await cache.stats();
  return waiting > 0 || calibration.compared < calibration.of;
}

function columnOf(name: string, results: readonly (readonly [PromptPair, boolean])[]): Column {
  const cells = new Map<string, Cell>();
  const count = (row: string, isHit: boolean) => {
    const { hits, of } = cells.get(row) ?? { hits: 0, of: 0 };
    cells.set(row, { hits: hits + Number(isHit), of: of + 1 });
  };
  for (const [{ same, category }, isHit] of results) {
    count(same ? 'same meaning' : 'traps', isHit);
    count(`${same ? 'same' : 'trap'}: ${category}`, isHit);
  }
  return { name, cells };
}

/** Returns the matches among pairs of the same meaning, or among traps, which must not match. */
export const totalOf = ({ cells }: Column, row: 'same meaning' | 'traps'): Cell =>
  cells.get(row) ?? { hits: 0, of: 0 };

/** Returns the matches per hundred pairs. */
export function percentOf(column: Column, row: 'same meaning' | 'traps'): number {
  const { hits, of } = totalOf(column, row);
  return (100 * hits) / of;
}

/** Formats a Markdown table: a column for each policy, with the totals first. */
export function tableOf(columns: readonly Column[]): string {
  const rows = [...new Set(columns.flatMap(({ cells }) => [...cells.keys()]))].toSorted(
    (a, b) => Number(a.includes(':')) - Number(b.includes(':')) || a.localeCompare(b),
  );
  const lines = rows.map(row => {
    const cells = columns.map(column => column.cells.get(row) ?? { hits: 0, of: 0 });
    return [row, ...cells.map(({ hits, of }) => `${hits}/${of}`)];
  });
  const wrong = columns.map(column => {
    const [right, traps] = [totalOf(column, 'same meaning').hits, totalOf(column, 'traps').hits];
    return right + traps === 0 ? '-' : `${((100 * traps) / (right + traps)).toFixed(1)} %`;
  });
  const head = ['hits', ...columns.map(({ name }) => name)];
  return [head, head.map(() => '---'), ...lines, ['wrong among hits', ...wrong]]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** Creates a judge that knows the right answers. */
function rightJudge(pairs: readonly PromptPair[]): Judge {
  const same = new Set(pairs.filter(pair => pair.same).map(({ a, b }) => JSON.stringify([a, b])));
  return {
    model: 'right',
    ask: async (a, b) => (same.has(JSON.stringify([a, b])) ? 'same' : 'different'),
  };
}

/** Prints the table of pairs. `args` are the command line arguments after `pairs`. */
export async function printPairs(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { half: { type: 'string', default: 'frozen' } },
  });
  const [url, embeddingModel = 'all-minilm:l6-v2'] = positionals;
  assert.ok(url, 'give the URL of an Ollama');
  const clock = systemClock;
  const log = silent;
  using breaker = createBreaker({ failureThreshold: 3, recoveryMs: 1_000, trialMs: 1_000 }, clock);
  const models = createModels({ url }, { clock, log, fetch, breaker });
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-pairs-'));
  const vectors = createEmbeddedVectors(join(folder, 'vectors.sqlite'), { clock, log });
  const { signal } = new AbortController();
  await vectors.start(signal);
  try {
    const pairs = readPairs().filter(({ half }) => values.half === 'both' || values.half === half);
    const known = new Map<string, ReturnType<Models['embed']>>();
    const embed: Models['embed'] = async (model, text, aborted) => {
      // A pause of the machine may fail one of thousands of requests, so each is retried once.
      const ask = () => models.embed(model, text, aborted);
      const embedded = known.get(text) ?? ask().catch(ask);
      known.set(text, embedded);
      return await embedded;
    };
    const needs = { models: { ...models, embed }, vectors, clock, embeddingModel };
    const judge = rightJudge(pairs);
    const policies: readonly Policy[] = [
      { name: 'guarded', mode: 'guarded' },
      { name: 'threshold 0.85', mode: 'threshold', threshold: 0.85 },
      { name: 'verified 0.85, right judge', mode: 'verified', threshold: 0.85, judge },
      { name: 'verified 0.7, right judge', mode: 'verified', threshold: 0.7, judge },
    ];
    const columns = [...(await cosineColumns(pairs, embed, embeddingModel)), guardsAlone(pairs)];
    for (const policy of policies) columns.push(await measure(pairs, policy, needs));
    console.log(tableOf(columns));
  } finally {
    await vectors.stop();
    await models.stop();
    await rm(folder, { recursive: true });
  }
}

/** Returns the matches by cosine similarity alone, as other semantic caches find them. */
async function cosineColumns(
  pairs: readonly PromptPair[],
  embed: Models['embed'],
  model: string,
): Promise<readonly Column[]> {
  const { signal } = new AbortController();
  const scores = new Map<PromptPair, number>();
  for (const pair of pairs) {
    const [{ vector: a }, { vector: b }] = [
      await embed(model, pair.a, signal),
      await embed(model, pair.b, signal),
    ];
    scores.set(
      pair,
      a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0),
    );
  }
  return [0.85, 0.95].map(threshold =>
    columnOf(
      `cosine alone ${threshold}`,
      [...scores].map(([pair, score]) => [pair, score > threshold]),
    ),
  );
}
