import assert from 'node:assert/strict';
import { test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createEgressCounts } from '../../../../hub/runtimes/docker/egress/counts.ts';

test('the last 20 refused targets are kept, the latest first, and all are counted', () => {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const counts = createEgressCounts({ clock, log });
  assert.equal(counts.find('a'), undefined);
  const blockedOf = (target: string, count = 1) => ({
    server: 'a',
    allowed: 1,
    blocked: [{ target, why: 'is not in it', count }],
  });
  for (let index = 1; index <= 25; index++) counts.add(blockedOf(`${index}.com:80`));
  const first = clock.now();
  clock.advance(1000);
  counts.add(blockedOf('10.com:80', 5));
  const found = counts.find('a');
  assert.equal(found?.allowed, 26);
  assert.equal(found?.blockedCount, 30);
  assert.equal(found?.blocked.length, 20);
  assert.deepEqual(found?.blocked.slice(0, 2), [
    { target: '10.com:80', why: 'is not in it', count: 6, lastAt: first + 1000 },
    { target: '25.com:80', why: 'is not in it', count: 1, lastAt: first },
  ]);
  assert.equal(logged.length, 25, 'a target is logged once in a while');
  clock.advance(60_000);
  counts.add(blockedOf('10.com:80'));
  assert.equal(logged.length, 26);
});

test('the counts of a thousand servers are kept', () => {
  const counts = createEgressCounts({ clock: createManualClock(), log: silent });
  for (let index = 0; index <= 1000; index++)
    counts.add({ server: `s${index}`, allowed: 1, blocked: [] });
  assert.equal(counts.find('s0'), undefined);
  assert.equal(counts.find('s1')?.allowed, 1);
});

test('a server that connects to new targets all the time does not flood the log', () => {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const counts = createEgressCounts({ clock, log });
  const ask = (server: string, names: number) => {
    const blocked = Array.from({ length: names }, (_, at) => ({
      target: `${clock.monotonic()}-${at}.com:80`,
      why: 'is not in it',
      count: 1,
    }));
    counts.add({ server, allowed: 0, blocked });
  };
  for (let times = 0; times < 100; times++) {
    clock.advance(200);
    ask('a', 50);
  }
  assert.equal(logged.length, 51);
  assert.equal(logged.at(-1)?.message, 'more targets were blocked, and are counted only');
  ask('b', 1);
  assert.equal(logged.length, 52);
  clock.advance(60_000);
  ask('a', 1);
  assert.equal(logged.length, 53);
  assert.equal(counts.find('a')?.blockedCount, 5_001);
});
