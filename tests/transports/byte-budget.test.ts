import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createByteBudget } from '#transports';

const maxBytes = 32 * 2 ** 20;
const mebibyte = 2 ** 20;

/** Creates a budget, and records how it pauses and resumes the holders that a test adds. */
function budgetWith() {
  const clock = createManualClock();
  const told: string[] = [];
  const log = { warn() {} };
  const relieved = () => void told.push('relieved');
  const budget = createByteBudget({ maxBytes, what: 'tests' }, { clock, log, relieved });
  function hold(name: string, bytes: number) {
    const sizes = { bytes };
    budget.hold({
      bytes: () => sizes.bytes,
      pause: () => void told.push(`${name} paused`),
      resume: () => void told.push(`${name} resumed`),
      drop: () => void told.push(`${name} dropped`),
    });
    return sizes;
  }
  return { clock, told, hold, budget, look: () => budget.added(mebibyte) };
}

describe('a byte budget', () => {
  test('does not limit a single large holder, even beside small ones', () => {
    const { told, hold, clock, look } = budgetWith();
    hold('large', 60 * mebibyte);
    for (let count = 0; count < 100; count++) hold(`small ${count}`, mebibyte / 10);
    look();
    clock.advance(10_000);
    assert.deepEqual(told, []);
  });

  test('pauses those with more than 64 KiB above the limit, however few there are', () => {
    const { told, hold, look } = budgetWith();
    hold('first', 17 * mebibyte);
    hold('second', 17 * mebibyte);
    hold('third', 100 * 1024);
    hold('fourth', 60 * 1024);
    look();
    assert.deepEqual(told, ['first paused', 'second paused', 'third paused']);
  });

  test('drops those that were paused for long, and lets the largest continue', () => {
    const { told, hold, clock, look } = budgetWith();
    hold('first', 17 * mebibyte);
    hold('second', 17 * mebibyte);
    look();
    clock.advance(5_000);
    assert.deepEqual(told, ['first paused', 'second paused', 'first resumed', 'second dropped']);
  });

  test('resumes all when half of the limit is free again', () => {
    const { told, hold, clock, look } = budgetWith();
    const first = hold('first', 17 * mebibyte);
    const second = hold('second', 18 * mebibyte);
    look();
    first.bytes = second.bytes = 0;
    clock.advance(1_000);
    assert.deepEqual(told.slice(2), ['first resumed', 'second resumed', 'relieved']);
  });

  test('drops the largest of those that cannot be paused, unless it is the only large one', () => {
    const { told, budget, look } = budgetWith();
    const holdUnread = (name: string, bytes: number) =>
      budget.hold({ bytes: () => bytes, drop: () => void told.push(`${name} dropped`) });
    holdUnread('slow reader', 40 * mebibyte);
    holdUnread('another', 10 * mebibyte);
    look();
    assert.deepEqual(told, []);
    holdUnread('third', 20 * mebibyte);
    look();
    assert.deepEqual(told, ['slow reader dropped']);
  });
});
