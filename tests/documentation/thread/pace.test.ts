import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createPace } from '../../../hub/documentation/thread/pace.ts';

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Works for so much processor time in ms. */
function work(ms: number): void {
  const until = cpuMs() + ms;
  while (cpuMs() < until);
}

test('a thread rests longer than it has worked, and soon again', () => {
  const pace = createPace();
  for (let piece = 0; piece < 3; piece++) {
    work(1);
    const begun = performance.now();
    pace();
    assert.ok(performance.now() - begun >= 1.9, 'it rests');
  }
});
