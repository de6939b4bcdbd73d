import assert from 'node:assert/strict';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { startHub } from '#helpers/hub';
import type { Principal } from '#policy';
import { openAsked } from './asking.ts';
import { openModern } from './modern.ts';

test('a queued call has one time limit for its wait and its answer', async () => {
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

const clientNamed = (name: string): Principal => ({
  kind: 'client',
  name,
  grants: { administer: false },
});

test.each(['modern', 'legacy'])(
  'a client takes turns with others, however many sessions of the %s era it has',
  async era => {
    await using hub = await startHub([{ name: 'stateful', maxConcurrentCalls: 1 }]);
    const server = hub.server('stateful');
    async function slow(principal: Principal, text: string): Promise<unknown> {
      const given = { ms: 20, text };
      if (era === 'modern')
        return await openModern(hub, server, {}, undefined, principal).call('slow', given);
      const client = openAsked(hub, server, undefined, principal);
      await client.initialize({});
      return await client.call('slow', given);
    }
    const [greedy, modest] = [clientNamed('greedy'), clientNamed('modest')];
    const calls = Array.from({ length: 6 }, (_, index) => slow(greedy, `greedy ${index}`));
    await Promise.all([...calls, slow(modest, 'modest')]);
    const reader = openAsked(hub, server);
    await reader.initialize({});
    const { notes } = Object(await reader.call('recall'));
    assert.ok(notes.indexOf('modest') <= 2, notes.join());
  },
);
