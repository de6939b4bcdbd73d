import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createDeadlines, createRedisLink } from '#redis';

/** A server can hang up in two ways. In both, the client may notice it while it reads, or only when it writes. */
for (const [how, hangUp] of [
  ['resets', 'resetAndDestroy'],
  ['closes', 'destroy'],
] as const)
  test(`a connection that is taken and then lost is told as one, where the other end ${how} it`, async () => {
    const server = createServer(socket => void socket[hangUp]()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const url = `redis://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    const reasons: string[] = [];
    const enough = Promise.withResolvers<void>();
    const link = createRedisLink(
      { url, channel: 'any', answerMs: 5_000, maxRetryMs: 1 },
      {
        clock: systemClock,
        random: () => 0,
        up: () => enough.reject(new Error('it is up')),
        heard: () => {},
        down: reason => {
          if (reasons.push(reason) === 50) enough.resolve();
        },
      },
    );
    try {
      await link.open();
      await enough.promise;
    } finally {
      await link.close();
      server.close();
    }
    const lost = new RegExp(
      `^the connection to ${new URL(url).host} was lost(?: \\(\\w+ (?:ECONNRESET|EPIPE).*\\))?$`,
    );
    for (const reason of reasons) assert.match(reason, lost);
  });

test('each who waits is late after its own time, by one timer for all, unless it has ended', async () => {
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

test('who has ended in the turn of the timer is not late', async () => {
  const clock = createManualClock();
  using deadlines = createDeadlines(100, clock);
  const one = deadlines.begin(() => assert.fail('it is late'));
  clock.advance(100);
  assert.equal(one.end(), true);
  await nextTurn();
});
