import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createRedisLink } from '#redis';

/** Neither hangs up in the same way: a client may read the reset, or meet it when it writes. */
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
