import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Config } from '#config';
import { createEmitter, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { limitsIn, wireLimits } from '../../hub/app/wire-limits.ts';

const none: Config = { servers: [], naming: { separator: '_', maxLength: 46 } };
const cursor = { name: 'cursor', administer: false, maxConcurrentCalls: 4 };

test('there are limits only for clients and sessions that have them in the config', () => {
  assert.equal(limitsIn(none), undefined);
  assert.equal(limitsIn({ ...none, clients: [{ name: 'free', administer: true }] }), undefined);
  const perSession = { rate: { calls: 1, perMs: 1_000 } };
  assert.deepEqual(limitsIn({ ...none, perSession }), { clients: new Map(), perSession });
  const clients = [cursor, { name: 'free', administer: false }];
  assert.deepEqual(limitsIn({ ...none, clients }), {
    clients: new Map([['cursor', cursor]]),
    perSession: undefined,
  });
});

async function wired(redisUrl: string | undefined) {
  let current = none;
  const changed = createEmitter<{ readonly after: Config }>();
  const limits = await wireLimits(
    { redisUrl },
    {
      source: {
        get current() {
          return current;
        },
        changed: changed.event,
      },
      clock: createManualClock(),
      log: silent,
      random: () => 0,
      newId: () => 'id',
    },
  );
  return {
    ...limits,
    apply: (config: Config) => {
      current = config;
      changed.fire({ after: config });
    },
  };
}

test('a reload applies limits, and removes them', async () => {
  const { forCalls, status, service, apply } = await wired(undefined);
  await service.start();
  assert.deepEqual([forCalls.rules(), status()], [undefined, undefined]);
  apply({ ...none, clients: [cursor] });
  assert.equal(forCalls.rules()?.clients.size, 1);
  assert.deepEqual(status(), { kind: 'alone' });
  apply({ ...none, perSession: { maxConcurrentCalls: 1 } });
  assert.equal(status(), undefined, 'sessions are at one hub only');
  apply(none);
  assert.equal(forCalls.rules(), undefined);
  await service.stop();
});

test('the hub connects to Redis only if a client has limits', async () => {
  const { status, service, apply, forCalls } = await wired('redis://127.0.0.1:1');
  await service.start();
  assert.equal(forCalls.clients.status.kind, 'degraded');
  assert.equal(status(), undefined);
  apply({ ...none, clients: [cursor] });
  assert.equal(status()?.kind, 'degraded');
  await service.stop();
});
