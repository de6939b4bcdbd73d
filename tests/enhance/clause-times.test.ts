import assert from 'node:assert/strict';
import { test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const isAlike = (a: string, b: string) => ['same', 'alike'].includes(compareGuarded(a, b).verdict);

test('the position of a time in its clause does not matter', () => {
  assert.ok(isAlike('Next week I need a report', 'I need a report next week'));
});

test('each of two times belongs to its clause', () => {
  assert.ok(
    !isAlike(
      'Report bugs on Mondays and features daily',
      'Report features on Mondays and bugs daily',
    ),
  );
  assert.ok(!isAlike('Move it from today to tomorrow', 'Move it from tomorrow to today'));
});

test('a weekly report differs from a report sent weekly, and "by Friday" from "on Friday"', () => {
  assert.ok(!isAlike('Email the report weekly to the boss', 'Email the weekly report to the boss'));
  assert.ok(!isAlike('Pay the bill by Friday', 'Pay the bill on Friday'));
});

test('a weekly agenda for a meeting differs from an agenda for a weekly meeting', () => {
  assert.ok(!isAlike('Draft a weekly plan for a call', 'Draft a plan for a weekly call'));
  assert.ok(!isAlike('Draft a plan for a weekly call', 'Draft a plan for a call every week'));
  assert.ok(!isAlike('Write a daily list of a month', 'Write a monthly list of a day'));
  assert.ok(isAlike('Draft a vegan weekly plan for it', 'Draft a weekly vegan plan for it'));
  assert.ok(isAlike('Draft a plan for a weekly call', 'Draft a plan for a call held once a week'));
  assert.ok(!isAlike('Draft a plan for a weekly call', 'Draft a plan for a call held once a year'));
});
