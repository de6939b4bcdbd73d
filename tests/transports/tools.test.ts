import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { FanOutConfig } from '#config';
import { createEmitter } from '#core';
import { createManualClock } from '#helpers/clock';
import { connectEra, eras } from '#helpers/eras';
import { type TestHub, startHub } from '#helpers/hub';
import { createTestAccess } from '../routing/test-access.ts';
import { transports } from './every-transport.ts';

// Tests of tool switches, kept results and fan-out tools, as clients see them.

const cache = {
  tools: ['look'],
  ttlMs: 60_000,
  per: 'client',
  hints: 'both',
  maxBytes: 2 ** 20,
} as const;
const fixtures = [{ name: 'counter', cache }, { name: 'files' }];
const policy = [{ tools: ['files_search'], action: 'deny' }] as const;
const both: FanOutConfig = {
  name: 'both',
  tools: ['counter_look', 'files_read_file', 'files_search'],
  merge: 'concat',
  timeoutMs: 20_000,
};

const { access, change } = createTestAccess(fixtures, { policy });
const { event: changed, fire } = createEmitter<void>();
let configs = [both];
const clock = createManualClock();
let hub: TestHub;
beforeAll(async () => {
  hub = await startHub(fixtures, {
    access,
    clock,
    fanOut: { configs: () => configs, changed },
    changeTools: async (name, next) =>
      change({ policy, tools: { [name]: next(access.toolsOf(name)) } }),
  });
  // Sends the pending announcements of the lists that servers read at their start.
  clock.advance(1_000);
});
afterAll(() => hub?.[Symbol.asyncDispose]());

async function turn(body: object): Promise<void> {
  const answer = await fetch(`${hub.url}/servers/counter/tools`, {
    method: 'POST',
    headers: { ...hub.ownerHeaders, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200, await answer.text());
}

describe.each(Object.entries(transports))('over %s', (_name, connect) => {
  test('cached results, fan-out tools and switches work under the policy', async () => {
    await using client = await connect(hub, '');
    const call = async (name: string) => JSON.stringify(await client.call(name));
    const numberIn = (text: string) => /look (\d+)/.exec(text)?.[1] ?? assert.fail(text);
    assert.ok((await client.list()).includes('both'));
    const first = numberIn(await call('counter_look'));
    assert.equal(numberIn(await call('counter_look')), first);
    const joined = await call('both');
    assert.equal(numberIn(await call('both')), numberIn(joined));
    assert.match(joined, /did read_file/);
    assert.doesNotMatch(joined, /search/);
    await call('counter_write');
    const second = numberIn(await call('counter_look'));
    assert.notEqual(second, first);
    await turn({ disable: ['look'] });
    const left = await client.list();
    assert.ok(left.includes('both') && !left.includes('counter_look'));
    // The kept result of the disabled tool stays in the cache, but no client gets it.
    await assert.rejects(client.call('counter_look'), /policy denies/);
    assert.doesNotMatch(await call('both'), /look/);
    await turn({ enable: ['look'] });
    assert.equal(numberIn(await call('counter_look')), second);
  });
});

test.each(eras)('a client of %s hears that a switch or the config changed its list', async era => {
  await using client = await connectEra(era, `${hub.url}/mcp`);
  const listening = await client.subscribe();
  const method = 'notifications/tools/list_changed';
  const heard = () => client.heard.filter(one => one.method === method).length;
  for (const [act, isListed] of [
    [() => turn({ disable: ['look'] }), true],
    [() => turn({ enable: ['look'] }), true],
    [async () => set([]), false],
    [async () => set([both]), true],
  ] as const) {
    const before = heard();
    await act();
    clock.advance(1_000);
    // The client reads all earlier notifications before this answer.
    assert.equal((await client.toolNames()).includes('both'), isListed);
    assert.ok(heard() > before);
  }
  await listening.stop();
});

function set(next: typeof configs): void {
  configs = next;
  fire();
}
