import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Point } from '#vectors';
import { createManualClock } from '#helpers/clock';
import { never } from '#helpers/never';
import { createRecordingLog } from '#helpers/recording-log';
import { createVerifier } from '../../hub/enhance/semantic-verify.ts';
import { type ScriptedJudge, scriptedJudge } from './scripted-judge.ts';

const embedded = { collection: 'c', scope: 's', vector: Float32Array.of(1, 0) };
const pairOf = (prompt: string, kept = 'kept', scope = 's') => ({
  prompt,
  embedded: { ...embedded, scope },
  candidate: {
    verdict: 'unsure',
    why: 'other words',
    similarity: 0.9,
    ageMs: 5,
    entry: { prompt: kept, value: 'v', tag: 't', createdAt: 1, expiresAt: 2, isAlias: false },
  } as const,
});

const awaited = { isAwaited: true } as const;
const later = { isAwaited: false } as const;

function openVerifier(
  judge?: ScriptedJudge,
  {
    maxWaiting = 10,
    put,
  }: { readonly maxWaiting?: number; readonly put?: () => Promise<void> } = {},
) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const points: Point[] = [];
  const vectors = {
    async put(_collection: string, point: Point) {
      await put?.();
      points.push(point);
    },
  };
  const options = { maxPerScope: 100, maxWaiting };
  const verifier = createVerifier(options, { vectors, judge, clock, log });
  return { clock, logged, points, verifier };
}

/** Lets all promises that are settled go on. */
const settle = () => new Promise(resolve => setImmediate(resolve));

describe('a pair', () => {
  test('without a judge has no answer, and nothing waits', async () => {
    const { verifier, clock } = openVerifier();
    assert.equal(await verifier.verify(pairOf('asked'), awaited, never), undefined);
    assert.equal(verifier.stats.waiting, 0);
    assert.equal(clock.waiting, 0);
  });

  test('that means the same becomes an alias, with the value and times of the entry', async () => {
    const { verifier, points } = openVerifier(scriptedJudge('same'));
    assert.equal(await verifier.verify(pairOf('asked'), awaited, never), 'same');
    const [point] = points;
    assert.deepEqual(point?.payload, {
      scope: 's',
      tag: 't',
      expires_at: 2,
      created_at: 1,
      prompt: 'asked',
      value: 'v',
      alias: 1,
    });
    assert.deepEqual(verifier.stats, {
      judgements: { same: 1, different: 0, unknown: 0 },
      waiting: 0,
      refused: 0,
      labels: 1,
    });
  });

  test('is judged once, whichever of the two was asked first, and once more in another scope', async () => {
    const judge = scriptedJudge('different');
    const { verifier, points } = openVerifier(judge);
    await verifier.verify(pairOf('asked', 'kept'), awaited, never);
    const turned = pairOf('kept', 'asked');
    assert.equal(verifier.labelOf(turned), 'different');
    assert.equal(await verifier.verify(turned, awaited, never), 'different');
    assert.equal(verifier.labelOf(pairOf('asked', 'kept', 'other')), undefined);
    assert.equal(judge.asked.length, 1);
    assert.deepEqual(points, []);
  });

  test('is the same although its alias could not be stored', async () => {
    const put = async () => {
      throw new Error('disk full');
    };
    const { verifier, logged } = openVerifier(scriptedJudge('same'), { put });
    assert.equal(await verifier.verify(pairOf('asked'), awaited, never), 'same');
    assert.equal(verifier.labelOf(pairOf('asked')), 'same');
    assert.deepEqual(logged, [
      {
        level: 'debug',
        message: 'an answer of the judge could not be kept',
        fields: { error: 'disk full' },
      },
    ]);
  });
});

describe('in the background', () => {
  test('pairs are judged one at a time, five seconds apart', async () => {
    const judge = scriptedJudge();
    judge.later = 'different';
    const { verifier, clock } = openVerifier(judge);
    for (const prompt of ['one', 'two', 'one'])
      assert.equal(await verifier.verify(pairOf(prompt), later, never), undefined);
    assert.equal(verifier.stats.waiting, 2);
    clock.advance(4_999);
    assert.deepEqual(judge.asked, []);
    clock.advance(1);
    await settle();
    clock.advance(4_999);
    assert.deepEqual(judge.asked, [['later', 'kept', 'one']]);
    clock.advance(1);
    await settle();
    assert.equal(judge.asked.length, 2);
    assert.equal(verifier.labelOf(pairOf('two')), 'different');
    assert.equal(clock.waiting, 0);
  });

  test('no more pairs wait than may, and those of which the judge was unsure may wait again', async () => {
    const judge = scriptedJudge();
    const { verifier, clock } = openVerifier(judge, { maxWaiting: 1 });
    for (const prompt of ['one', 'two', 'one']) await verifier.verify(pairOf(prompt), later, never);
    assert.deepEqual([verifier.stats.waiting, verifier.stats.refused], [1, 1]);
    clock.advance(5_000);
    await settle();
    assert.equal(verifier.stats.judgements.unknown, 1);
    await verifier.verify(pairOf('one'), later, never);
    assert.deepEqual([verifier.stats.waiting, verifier.stats.refused], [1, 1]);
  });

  test('a judge that throws is logged, and the next pair gets its turn', async () => {
    const judge = scriptedJudge();
    const failing = Promise.reject(new Error('out of order'));
    judge.later = failing;
    const { verifier, clock, logged } = openVerifier(judge);
    for (const prompt of ['one', 'two']) await verifier.verify(pairOf(prompt), later, never);
    clock.advance(5_000);
    await settle();
    judge.later = 'same';
    clock.advance(5_000);
    await settle();
    assert.equal(verifier.labelOf(pairOf('two')), 'same');
    assert.deepEqual(
      logged.map(({ level, fields }) => [level, fields]),
      [['warn', { error: 'out of order' }]],
    );
  });
});

describe('an answer', () => {
  test('that was asked for before all were forgotten is not kept', async () => {
    const judge = scriptedJudge();
    judge.later = 'same';
    const { verifier, clock, points } = openVerifier(judge);
    await verifier.verify(pairOf('one'), later, never);
    verifier.forget();
    clock.advance(5_000);
    await settle();
    assert.deepEqual([points.length, verifier.stats.labels], [0, 0]);
    assert.equal(verifier.stats.judgements.same, 1);
  });

  test('is forgotten with the others', async () => {
    const { verifier } = openVerifier(scriptedJudge('different'));
    await verifier.verify(pairOf('one'), awaited, never);
    verifier.forget();
    assert.equal(verifier.labelOf(pairOf('one')), undefined);
  });
});

test('once stopped, nothing waits, and the judgement that runs is cancelled without a word', async () => {
  const judge = scriptedJudge();
  let cancelled = false;
  const { verifier, clock, logged } = openVerifier({
    ...judge,
    ponder: (_a, _b, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          cancelled = true;
          reject(signal.reason);
        }),
      ),
  });
  for (const prompt of ['one', 'two']) await verifier.verify(pairOf(prompt), later, never);
  clock.advance(5_000);
  verifier.stop();
  await settle();
  await verifier.verify(pairOf('three'), later, never);
  assert.equal(cancelled, true);
  assert.deepEqual([verifier.stats.waiting, clock.waiting, logged.length], [0, 0, 0]);
});
