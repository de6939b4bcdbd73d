import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject, silent, systemClock } from '#core';
import { type Models, createModels } from '#models';
import { createBreaker } from '#resilience';
import { createEmbeddedVectors } from '#vectors';
import { isLong } from '#helpers/length';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { type Judge, createJudge } from '../../hub/enhance/judge.ts';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import {
  type Column,
  type Policy,
  type PromptPair,
  guardsAlone,
  measure,
  readPairs,
  tableOf,
  totalOf,
} from '../bench/pairs-table.ts';
import { type OllamaDouble, startOllama } from '../doubles/ollama.ts';

const pairs = readPairs();
/** The pairs of the first two rounds that were not used in development. */
const frozen = readPairs(['prompt-pairs', 'prompt-pairs-held-out']).filter(
  ({ half }) => half === 'frozen',
);
/** Those of them that a cache looks up: the short form takes a third. */
const lookedUp = frozen.filter((_, at) => isLong || at % 3 === 0);

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

/** What the judge is asked about. */
function askedPair(messages: unknown): PromptPair {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const content: unknown = isObject(last) ? JSON.parse(String(last['content'])) : undefined;
  const prompts = isObject(content) ? JSON.stringify(content['prompts']) : '';
  return frozen.find(({ a, b }) => JSON.stringify([a, b]) === prompts) ?? assert.fail(prompts);
}
const answering = (answer: (same: boolean) => string) =>
  ollama.says(({ messages }) => answer(askedPair(messages).same));
const truly = (same: boolean) => JSON.stringify({ same });

/** Whatever the embedding model thinks of two prompts, the guards and the judge see them. */
const anything = { mode: 'verified', threshold: -1 } as const;
const percent = (column: Column, row: 'same meaning' | 'traps') => {
  const { hits, of } = totalOf(column, row);
  return (100 * hits) / of;
};

/** Prompts of two pairs that are one request indeed. */
const sameByChance = [
  ["What's new in Python 3.12?", 'What are the new features in Python 3.12?'],
  [
    'Write a formal apology to a client for a late delivery',
    'Write a formal apology to a client for a late delivery.',
  ],
  ['convert 70 kg to pounds', 'How much is 70 kg in pounds?'],
  ['What is 15% of 240?', 'What is 15 percent of 240?'],
  [
    'How long does it take to download 40 GB at 100 megabits per second?',
    'How long does it take to download 40 GB at 100 Mb/s?',
  ],
  ['Merge main into my feature branch.', 'Merge main into my feature branch'],
  ['Merge my feature branch into main.', 'Merge my feature branch into main'],
  [
    'How many calories are in 2 tablespoons of peanut butter?',
    'How many calories are in two tablespoons of peanut butter?',
  ],
  [
    'Give me a recipe for gluten-free banana bread',
    'Give me a recipe for gluten-free banana bread.',
  ],
  [
    'How long does it take to download 2 GB at 50 megabits per second?',
    'How long does it take to download 2 GB at 50 Mb/s?',
  ],
];

describe('the pairs', () => {
  test('are 9419, half of them traps', () => {
    const sizes = Object.groupBy(pairs, ({ same, half }) => `${half} ${same}`);
    assert.deepEqual(
      Object.entries(sizes)
        .map(([name, group]) => `${name} ${group?.length}`)
        .toSorted(),
      ['frozen false 4422', 'frozen true 4439', 'tuning false 279', 'tuning true 279'],
    );
  });

  test('of traps have no prompt that the guards take for one of another pair', () => {
    const prompts = pairs.flatMap(({ a, b, same }, pair) =>
      [a, b].map(text => ({ text, pair, same })),
    );
    const alike = Map.groupBy(prompts, ({ text }) => canonicalOf(text).sequence.join('\n'));
    const shared = [...alike.values()].filter(
      group => new Set(group.map(({ pair }) => pair)).size > 1,
    );
    // Prompts that stand in two pairs, letter by letter, are no mistake.
    const mistaken = shared
      .map(group => new Set(group.filter(({ same }) => !same).map(({ text }) => text)))
      .filter(({ size }) => size > 1)
      .map(texts => [...texts]);
    assert.deepEqual(mistaken, sameByChance);
  });
});

describe('of the pairs', () => {
  test.for([
    ['prompt-pairs', 84],
    ['prompt-pairs-develop', 78],
    ['prompt-pairs-develop-2', 33],
    ['prompt-pairs-held-out', 73],
    ['prompt-pairs-held-out-2', 65],
    ['prompt-pairs-blind', 69],
    ['prompt-pairs-blind-2', 65],
    ['prompt-pairs-blind-3', 84],
    ['prompt-pairs-blind-4', 74],
    ['prompt-pairs-blind-5', 70],
    ['prompt-pairs-blind-6', 85],
    ['prompt-pairs-blind-7', 84],
    ['prompt-pairs-blind-8', 74],
    ['prompt-pairs-blind-9', 68],
    ['prompt-pairs-blind-10', 81],
    ['prompt-pairs-blind-11', 83],
    ['prompt-pairs-blind-12', 89],
    ['prompt-pairs-blind-13', 85],
    ['prompt-pairs-blind-14', 86],
    ['prompt-pairs-blind-15', 86],
    ['prompt-pairs-blind-16', 30],
    ['prompt-pairs-blind-17', 84],
    ['prompt-pairs-blind-18', 81],
    ['prompt-pairs-blind-19', 73],
    ['prompt-pairs-blind-20', 91],
    ['prompt-pairs-blind-21', 82],
    ['prompt-pairs-blind-22', 83],
    ['prompt-pairs-blind-23', 87],
    ['prompt-pairs-blind-24', 84],
    ['prompt-pairs-blind-25', 86],
    ['prompt-pairs-blind-26', 64],
    ['prompt-pairs-blind-27', 26],
    ['prompt-pairs-blind-28', 27],
    ['prompt-pairs-blind-29', 38],
    ['prompt-pairs-blind-30', 66],
    ['prompt-pairs-blind-31', 68],
    ['prompt-pairs-blind-32', 60],
    ['prompt-pairs-blind-33', 26],
    ['prompt-pairs-blind-34', 81],
    ['prompt-pairs-blind-35', 28],
    ['prompt-pairs-blind-36', 6],
    ['prompt-pairs-blind-37', 0],
    ['prompt-pairs-blind-38', 52],
    ['prompt-pairs-blind-39', 86],
    ['prompt-pairs-blind-40', 34],
    ['prompt-pairs-blind-41', 27],
    ['prompt-pairs-blind-42', 74],
    ['prompt-pairs-blind-43', 68],
    ['prompt-pairs-blind-44', 60],
    ['prompt-pairs-blind-45', 50],
    ['prompt-pairs-blind-46', 80],
    ['prompt-pairs-blind-47', 53],
    ['prompt-pairs-blind-48', 75],
    ['prompt-pairs-blind-49', 63],
    ['prompt-pairs-blind-50', 43],
    ['prompt-pairs-blind-51', 68],
    ['prompt-pairs-blind-52', 17],
    ['prompt-pairs-blind-53', 24],
    ['prompt-pairs-blind-54', 22],
    ['prompt-pairs-blind-55', 82],
    ['prompt-pairs-blind-56', 60],
    ['prompt-pairs-blind-57', 75],
    ['prompt-pairs-blind-58', 82],
    ['prompt-pairs-blind-59', 76],
    ['prompt-pairs-blind-60', 77],
    ['prompt-pairs-blind-61', 73],
    ['prompt-pairs-blind-62', 74],
    ['prompt-pairs-notations', 90],
    ['prompt-pairs-notations-2', 83],
  ] as const)('in %s no trap is alike, and %d of a hundred others are', ([file, atLeast]) => {
    const column = guardsAlone(readPairs([file]));
    assert.equal(totalOf(column, 'traps').hits, 0);
    assert.ok(percent(column, 'same meaning') >= atLeast);
  });
});

test('of all pairs no trap is alike, and 66 of a hundred others are', { timeout: 120_000 }, () => {
  const column = guardsAlone(pairs);
  assert.equal(totalOf(column, 'traps').hits, 0);
  assert.ok(percent(column, 'same meaning') >= 66);
});

test('of the traps for single rules none is alike', () => {
  const file = new URL('../data/prompt-traps.json', import.meta.url);
  const rows: unknown = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(Array.isArray(rows));
  const alike = rows.filter((row: unknown) => {
    const [a = '', b = ''] = Array.isArray(row) ? row.map(String) : [];
    assert.ok(a !== '' && b !== '');
    return ['same', 'alike'].includes(compareGuarded(a, b).verdict);
  });
  assert.deepEqual(alike, []);
});

describe('of the frozen half', { timeout: 120_000 }, () => {
  test('guards alone let no trap through, and hit 81 of a hundred', async ({ annotate }) => {
    const column = guardsAlone(frozen);
    await annotate(tableOf([column]));
    assert.equal(percent(column, 'traps'), 0);
    assert.ok(percent(column, 'same meaning') >= 81);
  });

  test('`verified` serves no more traps than its judge gets wrong', async ({ annotate }) => {
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
    assert.equal(percent(right, 'traps'), percent(alone, 'traps'));
    assert.ok(percent(right, 'same meaning') > 2 * 14);
    // The guards say no to most traps before the judge is asked.
    assert.ok(percent(yes, 'traps') <= 10);
    assert.ok(percent(wrong, 'traps') <= 10);
  });

  test('a judge that is slow, or not there, makes a miss', async ({ annotate }) => {
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

  test('`threshold` serves what no guard objects to', async ({ annotate }) => {
    const columns: Column[] = [];
    for (const threshold of [0.85, 0.9, 0.95, -1])
      columns.push(await run({ mode: 'threshold', threshold }, `threshold ${threshold}`));
    await annotate(tableOf(columns));
    for (const column of columns) assert.ok(percent(column, 'traps') <= 10);
  });
});
