import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Call, latenessOf, p99, paceMs } from './lateness.ts';

const quietMs = 3_000;

/** Creates calls of 5 ms each for some time. `late` gives other durations by start time. */
function callsFor(ms: number, late: Readonly<Record<number, number>> = {}): Call[] {
  const calls: Call[] = [];
  for (let at = 0; at < ms;) {
    const tookMs = late[at] ?? 5;
    calls.push({ endMs: at + tookMs, tookMs });
    at += Math.ceil(Math.max(tookMs, paceMs) / paceMs) * paceMs;
  }
  return calls;
}

const quiet = { neighbour: callsFor(quietMs), control: callsFor(quietMs) };
const isLate = (ms: number, neighbour: Record<number, number>, control = {}) => {
  const found = latenessOf(quiet, {
    neighbour: callsFor(ms, neighbour),
    control: callsFor(ms, control),
  });
  return found.neighbour > found.most;
};

test('one call that takes 150 ms counts as often as calls at the regular pace would have been late', () => {
  assert.equal(p99(callsFor(quietMs)), 5);
  assert.equal(p99(callsFor(quietMs, { 1_000: 150 })), 130);
  assert.equal(p99(callsFor(quietMs, { 1_000: 20 })), 5);
});

test('a pause of the hub for 150 ms counts as late, however long the fault takes and whenever it is', () => {
  assert.equal(isLate(quietMs, {}), false);
  for (const ms of [700, quietMs, 20_000, 60_000])
    for (const at of [0, 300, ms - 200]) assert.ok(isLate(ms, { [at]: 150 }), `${at} of ${ms} ms`);
});

test('a pause of the machine delays both calls, and does not count against the hub', () => {
  assert.equal(isLate(quietMs, { 1_000: 150 }, { 1_000: 100 }), false);
  assert.equal(isLate(quietMs, { 1_000: 150 }, { 1_000: 30 }), true);
});

test('a pause of the machine does not excuse one of the hub at another time', () => {
  assert.ok(isLate(20_000, { 1_000: 150, 15_000: 150 }, { 1_000: 150 }));
});
