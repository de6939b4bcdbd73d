import assert from 'node:assert/strict';
import { test } from 'vitest';
import { textOf } from '#dashboard';
import { egressPart } from '../../hub/dashboard/egress.ts';

const report = { allowed: 1, blockedCount: 0, blocked: [] };

test('a server without blocked connections has a count of connections', () => {
  const text = textOf(egressPart(report, 0));
  assert.match(text, /1 connection allowed, 0 blocked\./);
  assert.doesNotMatch(text, /table/);
});

test('blocked targets are shown with the reason, and how to allow them', () => {
  const target = { target: '<b>.test:443', why: 'is not in the list', count: 3, lastAt: 30_000 };
  const text = textOf(egressPart({ allowed: 0, blockedCount: 3, blocked: [target] }, 90_000));
  assert.match(text, /&lt;b&gt;\.test:443/);
  assert.match(text, /is not in the list/);
  assert.match(text, /1 min ago/);
  assert.match(text, /add it to <code>network\.allow<\/code>/);
});
