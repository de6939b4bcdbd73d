import assert from 'node:assert/strict';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createMemorySharing } from '#resilience';
import { sharingContract } from '../contracts/sharing.ts';

const meet = createMemorySharing(systemClock);

sharingContract({ name: 'in memory', hub: async () => meet() });

test('a hub without Redis reports that it shares with none, without an error', () => {
  assert.deepEqual(createMemorySharing(systemClock)().status, { kind: 'alone' });
});
