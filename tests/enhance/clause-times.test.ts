import assert from 'node:assert/strict';
import { test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const isAlike = (a: string, b: string) => ['same', 'alike'].includes(compareGuarded(a, b).verdict);

test('a time may stand anywhere in its clause', () => {
  assert.ok(isAlike('Next week I need a report', 'I need a report next week'));
});

test('of two times each belongs to the words beside it', () => {
  assert.ok(
    !isAlike(
      'Report bugs on Mondays and features daily',
      'Report features on Mondays and bugs daily',
    ),
  );
  assert.ok(!isAlike('Move it from today to tomorrow', 'Move it from tomorrow to today'));
});

test('a weekly report is not sent every week, and Friday is not every Friday', () => {
  assert.ok(!isAlike('Email the report weekly to the boss', 'Email the weekly report to the boss'));
  assert.ok(!isAlike('Pay the bill by Friday', 'Pay the bill on Friday'));
});
