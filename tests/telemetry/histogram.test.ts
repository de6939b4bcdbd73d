import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  addTime,
  bucketOf,
  createRecentCalls,
  day,
  halfHour,
  newTimes,
  quantileMs,
} from '../../hub/telemetry/histogram.ts';

describe('buckets', () => {
  test.for([
    [0, 0],
    [0.025, 0],
    [0.025_01, 1],
    [1, 5],
    [60_000, 19],
    [60_001, 20],
    [Infinity, 20],
  ] as const)('%d ms are in bucket %d', ([milliseconds, bucket]) => {
    assert.equal(bucketOf(milliseconds), bucket);
  });

  test('give a quantile by interpolation within its bucket', () => {
    const counts = new Float64Array(21);
    assert.equal(quantileMs(counts, 0.5), undefined);
    counts[5] = 10;
    assert.equal(quantileMs(counts, 0.5), 0.75);
    assert.equal(quantileMs(counts, 1), 1);
    counts[20] = 90;
    assert.equal(quantileMs(counts, 0.99), 60_000);
  });
});

test('times are counted in buckets with other bounds too', () => {
  const bounds = [1, 5];
  const times = newTimes(bounds);
  const buckets = [0, 1, 1.5, 5, 6].map(value => addTime(times, value, bounds));
  assert.deepEqual(buckets, [0, 0, 1, 1, 2]);
  assert.deepEqual([[...times.buckets], times.sum], [[2, 2, 1], 13.5]);
});

describe('recent calls', () => {
  const { intervalMs } = halfHour;
  const now = 1_750_000_000_000;
  const countsOf = (recent: ReturnType<typeof createRecentCalls>, at: number) =>
    recent.intervals(at).map(({ calls, errors }) => [calls, errors]);

  test('are dropped when a later one takes their slot', () => {
    const recent = createRecentCalls();
    recent.record(now, 3, true);
    recent.record(now + 180 * intervalMs, 5, false);
    const [latest] = recent.intervals(now + 180 * intervalMs).slice(-1);
    assert.deepEqual(latest, {
      at: now + 180 * intervalMs,
      calls: 1,
      errors: 0,
      p50Ms: 0.75,
      p99Ms: 0.995,
    });
    assert.deepEqual(countsOf(recent, now)[179], [0, 0]);
  });

  test('are returned while they are younger than half an hour, even if none came since', () => {
    const recent = createRecentCalls();
    recent.record(now, 3, true);
    assert.deepEqual(countsOf(recent, now + 179 * intervalMs)[0], [1, 1]);
    assert.ok(countsOf(recent, now + 180 * intervalMs).every(([calls]) => calls === 0));
    assert.ok(countsOf(recent, now - intervalMs).every(([calls]) => calls === 0));
  });

  test('of a day are kept in intervals of five minutes', () => {
    const begin = now - (now % 300_000);
    const recent = createRecentCalls(day);
    recent.record(begin, 3, true);
    recent.record(begin + 299_999, 3, false);
    assert.equal(countsOf(recent, begin).length, 288);
    assert.deepEqual(countsOf(recent, begin + 287 * 300_000)[0], [2, 1]);
    assert.ok(countsOf(recent, begin + 288 * 300_000).every(([calls]) => calls === 0));
  });
});
