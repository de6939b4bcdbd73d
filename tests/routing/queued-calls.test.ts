import assert from 'node:assert/strict';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { startHub } from '#helpers/hub';

test('a call that waits for its turn has one time for that and its answer', async () => {
  await using hub = await startHub([
    { name: 'stateful', maxConcurrentCalls: 1, callTimeoutMs: 1_500 },
  ]);
  await using client = await connect(`${hub.url}/mcp/stateful`);
  const since = performance.now();
  const [first, second] = await Promise.allSettled([
    client.call('slow', { ms: 1_000 }),
    client.call('slow', { ms: 1_000 }),
  ]);
  const tookMs = performance.now() - since;
  assert.deepEqual(first, { status: 'fulfilled', value: 'slept' });
  assert.ok(second.status === 'rejected');
  assert.match(String(second.reason), /did not answer tools\/call within 1.5 s/);
  assert.ok(tookMs > 1_450 && tookMs < 1_950, `it took ${tookMs} ms`);
});
