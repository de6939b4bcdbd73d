import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createTable } from '#store';
import { type CalibrationPair, createCalibration } from '../../hub/enhance/calibration.ts';
import shippedPairs from '../../hub/enhance/assets/calibration-pairs.json' with { type: 'json' };

/** Pairs of numbers. Their difference is the angle between their vectors, in degrees. */
const pairs: readonly CalibrationPair[] = [
  { kind: 'same', a: '0', b: '10' },
  { kind: 'trap', a: '0', b: '40' },
  { kind: 'trap', a: '0', b: '5 differs' },
  { kind: 'unrelated', a: '100', b: '160' },
  { kind: 'same', a: '0', b: '45' },
];
const compare = (_a: string, b: string) =>
  ({ verdict: b.includes('differs') ? 'different' : 'alike', why: '' }) as const;
const cosine = (degrees: number) => Math.cos((degrees * Math.PI) / 180);
/** Similarity of the worst wrong pair, plus a tenth of the distance from there to 1. */
const expected = Number((cosine(40) + 0.1 * (1 - cosine(40))).toFixed(3));

function openCalibration(
  table = createTable({ file: undefined, maxEntries: 10 }, createRecordingLog()),
  options: { readonly pairs?: readonly CalibrationPair[] } = {},
) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const texts: string[] = [];
  /** Embedding model of the test. Another `scale` makes it another model. */
  const model = {
    digest: 'one',
    scale: 1,
    fails: false,
    isBusy: false,
    /** Delays the answers of the model until this promise resolves. */
    held: Promise.resolve(),
  };
  const models = {
    async embed(_model: string, text: string) {
      texts.push(text);
      if (model.fails) throw new Error('busy');
      await model.held;
      const angle = (model.scale * Number.parseFloat(text) * Math.PI) / 180;
      return { vector: Float32Array.of(Math.cos(angle), Math.sin(angle)), digest: model.digest };
    },
  };
  const calibration = createCalibration(
    { embeddingModel: 'plain', pairs, compare, ...options },
    { models, table, isBusy: () => model.isBusy, clock, log },
  );
  return { calibration, clock, logged, model, table, texts };
}
type Opened = ReturnType<typeof openCalibration>;

/** Waits until the callbacks of all settled promises have run. */
const settle = () => new Promise(resolve => setImmediate(resolve));

/** Lets the calibration compare `count` more pairs. */
async function compareMore({ clock }: Opened, count: number): Promise<void> {
  for (let done = 0; done < count; done++) {
    clock.advance(200);
    await settle();
  }
}

test('the threshold is above the similarity of all wrong pairs that the guards admit', async () => {
  const opened = openCalibration();
  const { calibration, logged } = opened;
  assert.deepEqual(calibration.stats, { compared: 0, of: 0 });
  assert.equal(await calibration.thresholdOf('one'), undefined);
  await compareMore(opened, 3);
  assert.equal(await calibration.thresholdOf('one'), undefined);
  assert.deepEqual(calibration.stats, { compared: 3, of: 4 });
  await compareMore(opened, 1);
  assert.equal(await calibration.thresholdOf('one'), expected);
  const result = { threshold: expected, found: 1, same: 2 };
  assert.deepEqual(calibration.stats, { compared: 4, of: 4, ...result });
  assert.deepEqual(
    logged.map(({ level, fields }) => [level, fields]),
    [['info', { model: 'plain', ...result }]],
  );
});

test('the two texts of a pair are embedded one after the other, every 200 ms', async () => {
  const { calibration, clock, texts } = openCalibration();
  await calibration.thresholdOf('one');
  await settle();
  clock.advance(199);
  await settle();
  assert.deepEqual(texts, []);
  clock.advance(1);
  await settle();
  assert.deepEqual(texts, ['0', '10']);
  assert.equal(clock.waiting, 1);
});

test('calibration waits while models work on prompts, for a minute per pair', async () => {
  const opened = openCalibration();
  const { calibration, model, texts } = opened;
  await calibration.thresholdOf('one');
  model.isBusy = true;
  await compareMore(opened, 300);
  assert.deepEqual(texts, []);
  await compareMore(opened, 1);
  assert.equal(texts.length, 2);
  await compareMore(opened, 9);
  assert.equal(texts.length, 2);
  model.isBusy = false;
  await compareMore(opened, 1);
  assert.equal(texts.length, 4);
});

test('each model has a threshold of its own, which is computed once', async () => {
  const opened = openCalibration();
  const { calibration, model, texts } = opened;
  await calibration.thresholdOf('one');
  await compareMore(opened, 4);
  Object.assign(model, { digest: 'two', scale: 0.5 });
  assert.equal(await calibration.thresholdOf('two'), undefined);
  await compareMore(opened, 4);
  const other = await calibration.thresholdOf('two');
  assert.equal(other, Number((cosine(20) + 0.1 * (1 - cosine(20))).toFixed(3)));
  const count = texts.length;
  assert.equal(await calibration.thresholdOf('one'), expected);
  assert.equal(await openCalibration(opened.table).calibration.thresholdOf('two'), other);
  await compareMore(opened, 4);
  assert.equal(texts.length, count);
});

test('a model that is replaced meanwhile, and comes back, gets no result of the other model', async () => {
  const opened = openCalibration();
  const { calibration, model } = opened;
  await calibration.thresholdOf('one');
  await compareMore(opened, 2);
  Object.assign(model, { digest: 'two', scale: 0.5 });
  await compareMore(opened, 9);
  assert.deepEqual(calibration.stats, { compared: 0, of: 0 });
  Object.assign(model, { digest: 'one', scale: 1 });
  assert.equal(await calibration.thresholdOf('one'), undefined);
  await compareMore(opened, 4);
  assert.equal(await calibration.thresholdOf('one'), expected);
});

test('the end of the calibration of a replaced model does not affect that of the new model', async () => {
  const opened = openCalibration();
  const { calibration, model } = opened;
  await calibration.thresholdOf('one');
  const answer = Promise.withResolvers<void>();
  model.held = answer.promise;
  await compareMore(opened, 1);
  Object.assign(model, { digest: 'two', scale: 0.5 });
  await calibration.thresholdOf('two');
  answer.resolve();
  await settle();
  await compareMore(opened, 4);
  assert.equal(calibration.stats.compared, 4);
});

test('after a failure calibration retries with growing delays, logs it once, and continues', async () => {
  const opened = openCalibration();
  const { calibration, clock, logged, model, texts } = opened;
  await calibration.thresholdOf('one');
  await compareMore(opened, 1);
  model.fails = true;
  await compareMore(opened, 1);
  for (const waitMs of [5_000, 10_000, 20_000]) {
    const before = texts.length;
    clock.advance(waitMs - 1);
    await settle();
    assert.equal(texts.length, before);
    clock.advance(1);
    await settle();
    assert.equal(texts.length, before + 1);
  }
  assert.equal(logged.length, 1);
  assert.match(logged[0]?.message ?? '', /waits/);
  model.fails = false;
  clock.advance(40_000);
  await settle();
  await compareMore(opened, 2);
  assert.equal(await calibration.thresholdOf('one'), expected);
});

test('once stopped, calibration embeds nothing, and another hub continues from the last save', async () => {
  const many = Array.from(
    { length: 20 },
    (_, at) => ({ kind: 'trap', a: '0', b: String(at + 40) }) as const,
  );
  const opened = openCalibration(undefined, { pairs: many });
  await opened.calibration.thresholdOf('one');
  await compareMore(opened, 10);
  opened.calibration.stop();
  await compareMore(opened, 10);
  assert.equal(opened.texts.length, 20);
  const next = openCalibration(opened.table, { pairs: many });
  await next.calibration.thresholdOf('one');
  assert.equal(next.calibration.stats.compared, 8);
  await compareMore(next, 12);
  assert.equal(next.texts.length, 24);
  assert.equal(await next.calibration.thresholdOf('one'), expected);
});

test('calibration starts again for other pairs, and with a damaged file', async () => {
  const opened = openCalibration();
  await opened.calibration.thresholdOf('one');
  await compareMore(opened, 4);
  const other = openCalibration(opened.table, { pairs: pairs.slice(1) });
  assert.equal(await other.calibration.thresholdOf('one'), undefined);
  const [[key] = ['']] = await opened.table.entries();
  for (const damaged of ['{', '{}', '["0.5"]']) {
    await opened.table.put(key, damaged);
    const again = openCalibration(opened.table);
    assert.equal(await again.calibration.thresholdOf('one'), undefined);
    assert.equal(again.calibration.stats.compared, 0);
  }
});

describe('the shipped pairs', () => {
  test('are 40 of each kind', () => {
    const kinds = Object.groupBy(shippedPairs, ({ kind }) => kind);
    assert.deepEqual(
      Object.entries(kinds).map(([kind, group]) => [kind, group?.length]),
      [
        ['same', 40],
        ['trap', 40],
        ['unrelated', 40],
      ],
    );
  });

  test('do not contain prompts of the test sets for the cache', () => {
    const read = (name: string): readonly unknown[] =>
      JSON.parse(readFileSync(new URL(`../data/${name}.json`, import.meta.url), 'utf8'));
    const measured = [...read('prompt-pairs'), ...read('prompt-pairs-held-out')]
      .filter(isObject)
      .filter(({ half, split }) => half === 'frozen' || split === 'held_out')
      .map(({ a, b }) => JSON.stringify([a, b]));
    assert.ok(measured.length >= 350);
    for (const { a, b } of shippedPairs) assert.ok(!measured.includes(JSON.stringify([a, b])), a);
  });
});
