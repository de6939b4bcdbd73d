import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createReportLimit } from '../../hub/definitions/report-limit.ts';

test('a server has 100 reports in an hour, whose last is marked, and other servers have their own', () => {
  const clock = createManualClock();
  const limit = createReportLimit(clock);
  const admitted = Array.from({ length: 102 }, () => limit.admit('calc'));
  assert.deepEqual(admitted.slice(98), ['yes', 'last', 'no', 'no']);
  assert.equal(limit.admit('files'), 'yes');
  clock.advance(60 * 60_000 - 1);
  assert.equal(limit.admit('calc'), 'no');
  clock.advance(1);
  assert.equal(limit.admit('calc'), 'yes');
});

test('a server that was removed begins anew', () => {
  const limit = createReportLimit(createManualClock());
  for (let times = 0; times < 101; times++) limit.admit('calc');
  limit.forget('calc');
  assert.equal(limit.admit('calc'), 'yes');
});
