import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { startCpuTimer } from '#helpers/cpu-time';
import { createRecordingLog } from '#helpers/hub';
import { createLimitedLog } from '../../hub/upstream/limited-log.ts';

describe('a log that is limited', () => {
  test('accepts fifty lines a second, and then logs how many it dropped', () => {
    const clock = createManualClock();
    const { log, logged } = createRecordingLog();
    const limited = createLimitedLog(log, { clock });
    for (let second = 0; second < 3; second++) {
      for (let line = 0; line < 1_000; line++) limited.info({ line }, 'stderr');
      clock.advance(1_000);
    }
    assert.equal(logged.filter(({ message }) => message === 'stderr').length, 150);
    assert.deepEqual(
      logged.filter(({ level }) => level === 'warn').map(({ message }) => message),
      Array(3).fill('950 lines were not logged: the server writes more than 50 a second'),
    );
    assert.equal(clock.waiting, 0);
  });

  test('counts stderr and noise together, and accepts all again after a pause', () => {
    const clock = createManualClock();
    const { log, logged } = createRecordingLog();
    const limited = createLimitedLog(log, { clock });
    for (let line = 0; line < 40; line++) {
      limited.info({}, 'stderr');
      limited.warn({}, 'noise');
    }
    assert.equal(logged.length, 50);
    clock.advance(5_000);
    assert.equal(logged.length, 51);
    for (let line = 0; line < 100; line++) {
      limited.info({}, 'calm');
      clock.advance(20);
    }
    assert.equal(logged.filter(({ message }) => message === 'calm').length, 100);
  });

  test('costs next to nothing during a flood', () => {
    const limited = createLimitedLog(silent, { clock: createManualClock() });
    const cpuMs = startCpuTimer();
    for (let line = 0; line < 1_000_000; line++) limited.info({}, 'stderr');
    assert.ok(cpuMs() < 1_000);
  });
});
