// npm run bench -- find [url of an Ollama] [--cases file] [--misses]: how often find mode finds the tool of an
// annotated step, against words and embeddings alone, and how long a search takes among 2,800 tools. Without a URL,
// real-embeddings/serve.py serves a small real model.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { isObject, silent, systemClock } from '#core';
import { createModels } from '#models';
import { createBreaker } from '#resilience';
import {
  type SearchedTool,
  createEmbeddingModel,
  createMeanings,
  createToolSearch,
  createVectorStore,
} from '#toolsearch';
import { readQuery } from '../../hub/toolsearch/query.ts';
import { bestOf } from '../../hub/toolsearch/ranking.ts';
import { readToolText } from '../../hub/toolsearch/tool-text.ts';
import { countWords, createWordIndex } from '../../hub/toolsearch/word-index.ts';
import { median } from './median.ts';
import { serveEmbeddings, servedModel } from './real-embeddings/serve.ts';

/** A step, and the name of the tool that it needs. A tool of that name on any server counts. */
type Case = { readonly query: string; readonly tool: string };
type Cases = { readonly tools: readonly SearchedTool[]; readonly cases: readonly Case[] };

/** Returns the positions of the five best tools. */
type Finder = (query: string) => Promise<readonly number[]> | readonly number[];

const limit = 5;
/** Number of tools for which the search time is promised, and the limit in ms of a search without Ollama. */
const manyTools = 2_800;
const promisedMs = 10;

/** Reads annotated steps. Throws if the file has another format. */
export function readCases(
  file = join(import.meta.dirname, '..', 'data', 'tool-search.json'),
): Cases {
  const read: unknown = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(isObject(read));
  const { tools, cases } = read;
  assert.ok(Array.isArray(tools) && Array.isArray(cases));
  return {
    tools: tools.map((tool: unknown) => {
      assert.ok(isObject(tool));
      const { server, name, description, schema } = tool;
      assert.ok(typeof server === 'string' && typeof name === 'string');
      const definition = Buffer.from(JSON.stringify({ name, description, inputSchema: schema }));
      return { server, name, definition };
    }),
    cases: cases.map((one: unknown) => {
      assert.ok(isObject(one));
      const { query, tool } = one;
      assert.ok(typeof query === 'string' && typeof tool === 'string');
      return { query, tool };
    }),
  };
}

/** Counts how often the right tool is the first one found, and among the first five. */
export async function recallOf({ tools, cases }: Cases, find: Finder) {
  const misses: string[] = [];
  let first = 0;
  let five = 0;
  for (const { query, tool } of cases) {
    const found = (await find(query)).map(at => tools[at]?.name);
    if (found[0] === tool) first++;
    else misses.push(`${query} (${tool}): ${found.join(', ')}`);
    if (found.includes(tool)) five++;
  }
  return { first: first / cases.length, five: five / cases.length, misses };
}

/** Prints the table. `args` are the command line arguments after `find`. */
export async function printFind(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { cases: { type: 'string' }, misses: { type: 'boolean', default: false } },
  });
  const cases = readCases(values.cases);
  const [given] = positionals;
  await using served = given === undefined ? await serveEmbeddings() : undefined;
  const url = given ?? served?.url;
  const clock = systemClock;
  const log = silent;
  using breaker = createBreaker({ failureThreshold: 3, recoveryMs: 1_000, trialMs: 1_000 }, clock);
  const models = createModels({ url }, { clock, log, fetch, breaker });
  await models.start(new AbortController().signal);
  const model = createEmbeddingModel(() => servedModel, { models, clock });
  const meanings = createMeanings({ model, store: memoryStore(), clock, log });
  try {
    const finders = await createFinders(cases, meanings);
    const { tools } = cases;
    const servers = new Set(tools.map(({ server }) => server)).size;
    console.log(
      `${tools.length} tools of ${servers} servers, ${cases.cases.length} steps, ${model.name}`,
    );
    console.log(`${''.padEnd(28)}recall@1  recall@5`);
    for (const [name, find] of Object.entries(finders)) {
      const { first, five, misses } = await recallOf(cases, find);
      console.log(
        `${name.padEnd(28)}${first.toFixed(3).padStart(8)}${five.toFixed(3).padStart(10)}`,
      );
      if (values.misses && name === 'find mode')
        for (const miss of misses) console.log(`  ${miss}`);
    }
    console.log(await speedLine(cases));
  } finally {
    await meanings.stop();
    await models.stop();
  }
}

const memoryStore = () =>
  createVectorStore(() => ({
    open: async () => [],
    append: async () => true,
    close: async () => {},
  }));

/** Returns the search of find mode, and its two parts alone. */
async function createFinders({ tools }: Cases, meanings: ReturnType<typeof createMeanings>) {
  const { signal } = new AbortController();
  const texts = tools.map(readToolText);
  const index = createWordIndex(texts.map(({ fields }) => countWords(fields)));
  meanings.prepare(texts);
  await meanings.settled();
  const byWords = (query: string) => index.scores(readQuery(query).words);
  const byMeaning = async (query: string) => {
    const vector = await meanings.ofQuery(readQuery(query).embedded, signal);
    assert.ok(vector, 'no embedding model answers');
    return meanings.compare(texts, vector);
  };
  const search = createToolSearch({ meanings, clock: systemClock });
  const wanted = { limit, isFindable: () => true };
  await search.find(tools, { ...wanted, query: '' }, signal);
  await meanings.settled();
  return {
    'BM25 alone': (query: string) => bestOf(byWords(query), limit),
    'embeddings alone': async (query: string) => bestOf(await byMeaning(query), limit),
    'sum of both, from 0 to 1': async (query: string) => {
      const [words, meaning] = [scaled(byWords(query)), scaled(await byMeaning(query))];
      return bestOf(
        words.map((score, at) => score + (meaning[at] ?? 0)),
        limit,
      );
    },
    'find mode': (query: string) => search.find(tools, { ...wanted, query }, signal),
  };
}

function scaled(scores: Float64Array): Float64Array {
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  return scores.map(score => (score - least) / Math.max(most - least, 1e-9));
}

/** A model with vectors of the length of all-MiniLM-L6-v2, all equal and computed in no time. */
const constantModel = {
  list: async () => [
    { name: 'constant', digest: '', sizeBytes: 0, isLoaded: true, capabilities: ['embedding'] },
  ],
  embed: async () => ({ vector: new Float32Array(384).fill(1 / Math.sqrt(384)), digest: '' }),
};

/** Measures searches among copies of the tools on other servers, with a model that answers at once. */
async function speedLine({ tools, cases }: Cases) {
  const { signal } = new AbortController();
  const clock = systemClock;
  const model = createEmbeddingModel(() => 'constant', { models: constantModel, clock });
  const meanings = createMeanings({ model, store: memoryStore(), clock, log: silent });
  const many = Array.from({ length: manyTools }, (_, at): SearchedTool => {
    const { server, ...tool } = tools[at % tools.length] ?? {
      server: '',
      name: '',
      definition: Buffer.of(),
    };
    return { ...tool, server: `${server}${' copy'.repeat(Math.floor(at / tools.length))}` };
  });
  const search = createToolSearch({ meanings, clock: systemClock });
  const find = async (query: string) => {
    const begunMs = performance.now();
    await search.find(many, { query, limit, isFindable: () => true }, signal);
    return performance.now() - begunMs;
  };
  // The first search reads the tools and starts to embed them.
  const firstMs = await find(cases[0]?.query ?? '');
  await meanings.settled();
  const tookMs: number[] = [];
  for (let round = 0; round < 5; round++)
    for (const { query } of cases) tookMs.push(await find(query));
  const sorted = tookMs.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? NaN;
  return `a search among ${manyTools} tools without Ollama: median ${(median(tookMs) ?? NaN).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (at most ${promisedMs}); the first, which reads them, ${firstMs.toFixed(0)} ms`;
}
