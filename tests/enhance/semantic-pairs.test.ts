import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject, silent, systemClock } from '#core';
import { type Models, createModels } from '#models';
import { createBreaker } from '#resilience';
import { createEmbeddedVectors } from '#vectors';
import { isLong } from '#helpers/length';
import { type Judge, createJudge } from '../../hub/enhance/judge.ts';
import {
  type Column,
  type Policy,
  type PromptPair,
  guardsAlone,
  measure,
  percentOf,
  readPairs,
  tableOf,
} from '../bench/pairs-table.ts';
import { type OllamaDouble, startOllama } from '../doubles/ollama.ts';

/** Pairs of the first two rounds that were not used in development. */
const frozen = readPairs(['prompt-pairs', 'prompt-pairs-held-out']).filter(
  ({ half }) => half === 'frozen',
);
/** Pairs of `frozen` that a cache looks up. The short form takes every sixth pair. */
const lookedUp = frozen.filter((_, at) => isLong || at % 6 === 0);

const stack = new AsyncDisposableStack();
let ollama: OllamaDouble;
let run: (policy: Omit<Policy, 'name'>, name: string) => Promise<Column>;
let judge: Judge;
let models: Models;
const clock = systemClock;

beforeAll(async () => {
  ollama = stack.use(await startOllama({ models: ['judge:1b', 'nomic-embed-text'] }));
  const breaker = stack.use(
    createBreaker({ failureThreshold: 1_000, recoveryMs: 1_000, trialMs: 1_000 }, clock),
  );
  models = createModels({ url: ollama.url }, { clock, log: silent, fetch, breaker });
  stack.defer(() => models.stop());
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-pairs-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const vectors = createEmbeddedVectors(join(folder, 'vectors.sqlite'), { clock, log: silent });
  await vectors.start(new AbortController().signal);
  stack.defer(() => vectors.stop());
  judge = createJudge({ model: 'judge:1b', deadlineMs: 10_000 }, { models, clock });
  const needs = { models, vectors, clock, embeddingModel: 'nomic-embed-text' };
  run = (policy, name) => measure(lookedUp, { ...policy, name }, needs);
});
afterAll(() => stack.disposeAsync());

/** Returns the pair that the judge is asked about. */
function askedPair(messages: unknown): PromptPair {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const content: unknown = isObject(last) ? JSON.parse(String(last['content'])) : undefined;
  const prompts = isObject(content) ? JSON.stringify(content['prompts']) : '';
  return frozen.find(({ a, b }) => JSON.stringify([a, b]) === prompts) ?? assert.fail(prompts);
}
const answering = (answer: (same: boolean) => string) =>
  ollama.says(({ messages }) => answer(askedPair(messages).same));
const truly = (same: boolean) => JSON.stringify({ same });

/** With this threshold, all pairs reach the guards and the judge, whatever the embedding model finds. */
const anything = { mode: 'verified', threshold: -1 } as const;

describe('for the frozen half, the mode', { timeout: 120_000 }, () => {
  test('`verified` returns no more traps than its judge gets wrong', async ({ annotate }) => {
    const alone = guardsAlone(lookedUp, ['same']);
    const without = await run(anything, 'verified, no judge');
    answering(truly);
    const right = await run({ ...anything, judge }, 'judge right');
    answering(same => truly(!same));
    const wrong = await run({ ...anything, judge }, 'judge wrong');
    answering(() => truly(true));
    const yes = await run({ ...anything, judge }, 'judge always yes');
    answering(same => `They are ${same ? 'the same' : 'different'}: {"same": ${same}`);
    const malformed = await run({ ...anything, judge }, 'judge malformed');
    await annotate(tableOf([alone, without, right, wrong, yes, malformed]));
    assert.deepEqual(without.cells, alone.cells);
    assert.deepEqual(malformed.cells, alone.cells);
    assert.equal(percentOf(right, 'traps'), percentOf(alone, 'traps'));
    assert.ok(percentOf(right, 'same meaning') > 2 * 14);
    // The guards refuse most traps before the judge is asked.
    assert.ok(percentOf(yes, 'traps') <= 10);
    assert.ok(percentOf(wrong, 'traps') <= 10);
  });

  test('`verified` with a slow or missing judge makes a miss', async ({ annotate }) => {
    const { promise: hurry, resolve: release } = Promise.withResolvers<void>();
    answering(truly);
    ollama.fails('/api/chat', { kind: 'slow', until: hurry });
    const hasty = createJudge({ model: 'judge:1b', deadlineMs: 10 }, { models, clock });
    const slow = await run({ ...anything, judge: hasty }, 'judge slow');
    release();
    ollama.heals();
    const absent = createJudge({ model: 'nobody:1b', deadlineMs: 10_000 }, { models, clock });
    const missing = await run({ ...anything, judge: absent }, 'judge missing');
    await annotate(tableOf([slow, missing]));
    assert.deepEqual(slow.cells, guardsAlone(lookedUp, ['same']).cells);
    assert.deepEqual(missing.cells, guardsAlone(lookedUp, ['same']).cells);
  });

  test('`threshold` returns every pair that no guard rejects', async ({ annotate }) => {
    const columns: Column[] = [];
    for (const threshold of [0.85, 0.9, 0.95, -1])
      columns.push(await run({ mode: 'threshold', threshold }, `threshold ${threshold}`));
    await annotate(tableOf(columns));
    for (const column of columns) assert.ok(percentOf(column, 'traps') <= 10);
  });
});
