import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createDeadlines } from '#redis';

test('each deadline expires after its own time, by one timer for all, unless it was ended', async () => {
  const clock = createManualClock();
  using deadlines = createDeadlines(100, clock);
  const late: string[] = [];
  const first = deadlines.begin(() => late.push('first'));
  clock.advance(40);
  const second = deadlines.begin(() => late.push('second'));
  deadlines.begin(() => late.push('third'));
  assert.equal(clock.waiting, 1);
  assert.equal(second.end(), true);
  clock.advance(60);
  await nextTurn();
  assert.deepEqual(late, ['first']);
  assert.deepEqual([first.end(), second.end()], [false, false]);
  clock.advance(39);
  await nextTurn();
  assert.deepEqual(late, ['first']);
  clock.advance(1);
  await nextTurn();
  assert.deepEqual(late, ['first', 'third']);
  assert.equal(clock.waiting, 0, 'a timer runs though nobody waits');
});

test('a deadline that ends in the turn of the timer does not expire', async () => {
  const clock = createManualClock();
  using deadlines = createDeadlines(100, clock);
  const one = deadlines.begin(() => assert.fail('it is late'));
  clock.advance(100);
  assert.equal(one.end(), true);
  await nextTurn();
});
