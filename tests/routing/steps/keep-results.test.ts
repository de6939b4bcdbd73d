import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, configOf, startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import { createPrincipalRequests } from '#routing';

const cache = {
  tools: ['look', 'fail', 'peek'],
  ttlMs: 60_000,
  per: 'client',
  hints: 'both',
  maxBytes: 2 ** 20,
} as const;
const file = 'counter.mjs';
const fixtures = [
  { name: 'counter', cache },
  { name: 'common', file, cache: { ...cache, per: 'all', hints: 'read_only' } },
  // Has room for three results.
  { name: 'small', file, cache: { ...cache, maxBytes: 400 } },
] as const;

const clock = createManualClock();
let hub: TestHub;
beforeAll(async () => {
  hub = await startHub(fixtures, { clock });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const clientOf = (name: string): Principal => ({
  kind: 'client',
  name,
  grants: { administer: false },
});

/** Calls a tool as a client. Returns the text of its result, which contains a number that the server counts up. */
async function call(
  tool: string,
  args: object = {},
  { as = 'one', at = 'counter', signal = AbortSignal.timeout(20_000) } = {},
): Promise<string> {
  const requests = createPrincipalRequests(clientOf(as), hub.router);
  const params = { name: `${at}_${tool}`, arguments: { ...args } };
  const { content } = await requests.request('tools/call', params, signal);
  const [first]: unknown[] = Array.isArray(content) ? content : [];
  return isObject(first) ? String(first['text']) : assert.fail();
}

describe('a cacheable result', () => {
  test('is returned for equal arguments until its TTL ends, to its own client', async () => {
    const first = await call('look', { a: 1, b: [2] });
    assert.equal(await call('look', { b: [2], a: 1 }), first);
    assert.notEqual(await call('look', { a: 1, b: [2], c: null }), first);
    assert.notEqual(await call('look', { a: 1, b: [2] }, { as: 'two' }), first);
    clock.advance(59_999);
    assert.equal(await call('look', { a: 1, b: [2] }), first);
    clock.advance(1);
    assert.notEqual(await call('look', { a: 1, b: [2] }), first);
  });

  test('is returned to all clients with "per": "all"', async () => {
    const first = await call('look', {}, { at: 'common' });
    assert.equal(await call('look', {}, { at: 'common', as: 'two' }), first);
  });

  test('needs only "readOnlyHint" of the tool if the entry allows that', async () => {
    const peek = () => call('peek', {}, { at: 'common' });
    assert.equal(await peek(), await peek());
  });

  test('is dropped by a call of a tool that is not read-only, and by no other', async () => {
    const first = await call('look');
    const elsewhere = await call('look', {}, { at: 'common' });
    await call('peek');
    assert.equal(await call('look'), first);
    await call('write');
    assert.notEqual(await call('look'), first);
    assert.equal(await call('look', {}, { at: 'common' }), elsewhere);
  });

  test('is not cached if such a call began or ended meanwhile', async () => {
    const before = call('look', { hold: 1 });
    const writing = call('write', { hold: 1 });
    // Must not join the call that began before the write.
    const during = call('look', { hold: 1 });
    await call('release', { count: 3 });
    await writing;
    const after = call('look', { hold: 1 });
    await call('release');
    assert.equal(new Set(await Promise.all([before, during, after])).size, 3);
  });

  test('is not an error, and not from a tool without both hints', async () => {
    assert.notEqual(await call('fail'), await call('fail'));
    assert.notEqual(await call('peek'), await call('peek'));
    const told = hub.logged.map(line => JSON.stringify(line));
    assert.ok(
      told.some(line => line.includes('the hints it asks for') && line.includes('["peek"]')),
    );
    const shown = await fetch(`${hub.url}/servers/counter`);
    const answer: unknown = await shown.json();
    assert.deepEqual(isObject(answer) && answer['unkept_tools'], ['peek']);
  });

  test('is evicted if it is the least recently used', async () => {
    const look = (a: number) => call('look', { a }, { at: 'small' });
    const [first, second] = [await look(1), await look(2)];
    assert.equal(await look(1), first);
    await look(3);
    await look(4);
    assert.equal(await look(1), first);
    assert.notEqual(await look(2), second);
  });

  test('is counted, with its hits', async () => {
    const stats = async (at: string) => {
      const answer: unknown = await (await fetch(`${hub.url}/servers/${at}`)).json();
      const kept = isObject(answer) ? answer['kept_results'] : undefined;
      return isObject(kept) ? Object.values(kept).map(Number) : assert.fail(JSON.stringify(answer));
    };
    const before = await stats('common');
    await call('look', { a: 1 }, { at: 'common' });
    await call('look', { a: 1 }, { at: 'common' });
    const [results, bytes, hits, joined, misses] = (await stats('common')).map(
      (number, index) => number - (before[index] ?? 0),
    );
    assert.deepEqual([results, hits, joined, misses], [1, 1, 0, 1]);
    assert.ok(bytes !== undefined && bytes > 20);
  });

  test('is not cached for arguments with a duplicate member', async () => {
    const send = async () => {
      const answer = await fetch(`${hub.url}/mcp/counter/tools/call`, {
        method: 'POST',
        body: '{"name":"look","arguments":{"a":1,"a":2}}',
      });
      return await answer.text();
    };
    assert.notEqual(await send(), await send());
  });
});

describe('concurrent equal calls', () => {
  test('are one call, whose result each gets under its own id', async () => {
    const calls = Array.from({ length: 20 }, () => call('look', { hold: 'all' }));
    assert.equal(await call('release'), 'released 1');
    assert.equal(new Set(await Promise.all(calls)).size, 1);
  });

  test('continue when the first is cancelled, and end when all are', async () => {
    const leaving = new AbortController();
    const first = call('look', { hold: 'a' }, { signal: leaving.signal });
    const second = call('look', { hold: 'a' });
    leaving.abort();
    await assert.rejects(first, /cancel|no longer needed/);
    assert.equal(await call('release'), 'released 1');
    assert.match(await second, /^look \d+$/);
    const alone = new AbortController();
    const third = call('look', { hold: 'b' }, { signal: alone.signal });
    const inFlight = () => hub.server('counter').running?.upstream.inFlight();
    await until(() => inFlight() === 1);
    alone.abort();
    await assert.rejects(third);
    await until(() => inFlight() === 0);
    await call('release');
  });

  test('of different clients are separate calls', async () => {
    const calls = ['one', 'two'].map(as => call('look', { hold: 'c' }, { as }));
    assert.equal(await call('release', { count: 2 }), 'released 2');
    assert.equal(new Set(await Promise.all(calls)).size, 2);
  });

  test('are separate calls once the first has failed', async () => {
    const calls = ['x', 'x'].map(() => call('fail', { hold: 'd' }));
    assert.equal(await call('release'), 'released 1');
    assert.equal(await call('release'), 'released 1');
    assert.equal(new Set(await Promise.all(calls)).size, 2);
  });
});

describe('the cached results of a server', () => {
  test('are returned while the call would start the server, and dropped once it has restarted', async () => {
    const server = hub.server('counter');
    const first = await call('look');
    await server.stop(false);
    assert.equal(await call('look'), first);
    server.start();
    await until(() => server.running !== undefined);
    assert.equal(await call('look'), 'look 1');
  });

  test('are dropped when its list of tools changes', async () => {
    const first = await call('look');
    const { listing } = hub.server('counter');
    await call('relist');
    clock.advance(1_000);
    await until(() => hub.server('counter').listing !== listing);
    assert.notEqual(await call('look'), first);
  });

  test('are dropped when its entry changes, and not returned after it was stopped by hand', async () => {
    const server = hub.server('counter');
    const first = await call('look');
    await server.reconfigure(configOf({ ...fixtures[0], cache: { ...cache } }), false);
    assert.notEqual(await call('look'), first);
    await server.stop(true);
    await assert.rejects(call('look'), /stopped/);
  });
});
