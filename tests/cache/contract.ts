import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { describe, test } from 'vitest';
import type { CacheStats, ExactCache, Fill, Found } from '#cache';
import { until } from '../contracts/recorder.ts';

type CacheBounds = { readonly maxEntries: number; readonly maxBytes: number };

/** Storage of one test, which no other test uses. */
type CachePlace = {
  /** Opens another hub's cache on the storage, started and connected. */
  cache(bounds?: CacheBounds): Promise<ExactCache>;
  /** Advances the time until all entries with a time to live of `ms` have expired. */
  outlive(ms: number): Promise<void>;
};

type CacheKind = {
  readonly name: string;
  /** True if all caches on one storage share their entries. */
  readonly isShared: boolean;
  place(): Promise<CachePlace & AsyncDisposable>;
};

/** Bounds that no test exceeds unless it means to. */
export const wide: CacheBounds = { maxEntries: 10_000, maxBytes: 2 ** 24 };
export const never = new AbortController().signal;
/** Options of an entry that outlives every test. */
export const forLong = { tag: 'editor', ttlMs: 600_000 };
const replacing = { ...forLong, replaces: true };
const tagged = (tag: string) => ({ ...forLong, tag });

/** Returns a fill that gives a value at once. */
export const giving =
  (value: string, isKept = true): Fill =>
  async () => ({ value, isKept });

/** Returns a fill that counts its calls, and gives its value after `letGo`. */
export function heldFill(value = 'filled', isKept = true) {
  const gate = Promise.withResolvers<void>();
  const seen = { calls: 0, aborted: 0 };
  const fill: Fill = async signal => {
    seen.calls++;
    signal.addEventListener('abort', () => seen.aborted++);
    await gate.promise;
    return { value, isKept };
  };
  return {
    fill,
    seen,
    letGo: () => gate.resolve(),
    fail: (error: Error) => gate.reject(error),
    begun: () => until(() => seen.calls > 0, 'the fill to begin'),
  };
}

const refused: Fill = () => assert.fail('it is filled, but it should be there');

/** Fails unless the cache already contains the value. */
export async function isHit(cache: ExactCache, key: string, value: string): Promise<Found> {
  const found = await cache.getOrFill(key, forLong, refused, never);
  assert.deepEqual([found.value, found.from], [value, 'hit']);
  return found;
}

/** Adds a value to the cache, which must not contain its key yet. */
export async function keep(
  cache: ExactCache,
  key: string,
  value: string,
  options = forLong,
): Promise<void> {
  const found = await cache.getOrFill(key, options, giving(value), never);
  assert.deepEqual(found, { value, from: 'filled', ageMs: 0 });
}

export const isThere = async (cache: ExactCache, key: string): Promise<boolean> =>
  (await cache.peek(key)) !== undefined;

/** Waits until the statistics contain the expected values, as the counts of one hub reach the others with a delay. */
export async function counts(cache: ExactCache, expected: Partial<CacheStats>): Promise<void> {
  const deadline = performance.now() + 5_000;
  for (;;) {
    const stats = await cache.stats();
    const found = { ...stats, ...expected };
    if (isDeepStrictEqual(stats, found)) return;
    if (performance.now() > deadline) assert.deepEqual(stats, found);
    await nextTurn();
  }
}

/** Contract of `ExactCache`, for every kind of it. */
export function cacheContract(kind: CacheKind): void {
  const at = async (run: (place: CachePlace) => Promise<void>) => {
    await using place = await kind.place();
    await run(place);
  };
  const withCache = (run: (cache: ExactCache) => Promise<void>, bounds?: CacheBounds) =>
    at(async place => run(await place.cache(bounds)));

  describe(`an exact cache ${kind.name}`, () => {
    test('fills a missing key, and finds it from then on', () =>
      withCache(async cache => {
        assert.equal(await cache.peek('a'), undefined);
        await keep(cache, 'a', 'one');
        const { ageMs } = await isHit(cache, 'a', 'one');
        assert.ok(ageMs >= 0 && ageMs < 10_000, `its age is ${ageMs} ms`);
        assert.equal((await cache.peek('a'))?.value, 'one');
        await counts(cache, { entries: 1, hits: 1, misses: 1, joined: 0, errors: 0 });
      }));

    test('gives back each value as it was', () =>
      withCache(async cache => {
        const values = [
          '',
          ' \n\t\r\n',
          '\0\u0001"\\\u2028',
          'ä漢😀',
          '%s {1} 1e999',
          'x'.repeat(2 ** 20),
        ];
        for (const [index, value] of values.entries()) await keep(cache, `${index}`, value);
        for (const [index, value] of values.entries()) await isHit(cache, `${index}`, value);
      }));

    test('replaces an entry on request, without counting a look-up', () =>
      withCache(async cache => {
        for (const value of ['one', 'two', 'three']) {
          const found = await cache.getOrFill('a', replacing, giving(value), never);
          assert.deepEqual(found, { value, from: 'filled', ageMs: 0 });
          await isHit(cache, 'a', value);
        }
        await counts(cache, { entries: 1, hits: 3, misses: 0, joined: 0, errors: 0 });
      }));

    test('does not keep a value that it could not return unchanged', () =>
      withCache(async cache => {
        await keep(cache, 'a', 'half \ud83d');
        assert.equal(await isThere(cache, 'a'), false);
      }));

    test('counts bytes in UTF-8, with those of keys, and gives them back', () =>
      withCache(async cache => {
        await keep(cache, 'kä', '😀');
        await counts(cache, { entries: 1, bytes: 3 + 4 });
        await keep(cache, 'b', 'four');
        await counts(cache, { entries: 2, bytes: 7 + 5 });
        await cache.forget();
        await counts(cache, { entries: 0, bytes: 0 });
      }));

    test('evicts the least recently used entry', () =>
      withCache(
        async cache => {
          for (const key of ['a', 'b', 'c']) await keep(cache, key, key);
          await isHit(cache, 'a', 'a');
          await cache.peek('b');
          await keep(cache, 'd', 'd');
          assert.equal(await isThere(cache, 'b'), false);
          await keep(cache, 'e', 'e');
          assert.equal(await isThere(cache, 'c'), false);
          for (const key of ['a', 'd', 'e']) await isHit(cache, key, key);
          await counts(cache, { entries: 3, evictions: 2 });
        },
        { ...wide, maxEntries: 3 },
      ));

    test('returns an entry on hit without a fill, and counts the hit as a use', () =>
      withCache(
        async cache => {
          assert.equal(await cache.hit('a'), undefined);
          for (const key of ['a', 'b']) await keep(cache, key, `of ${key}`);
          const { ageMs, ...found } = (await cache.hit('a')) ?? assert.fail('it is not there');
          assert.deepEqual(found, { value: 'of a', from: 'hit' });
          assert.ok(ageMs >= 0 && ageMs < 10_000, `it is ${ageMs} ms old`);
          await keep(cache, 'c', 'of c');
          assert.deepEqual([await isThere(cache, 'a'), await isThere(cache, 'b')], [true, false]);
          await cache.forget();
          assert.equal(await cache.hit('a'), undefined);
          await counts(cache, { hits: 1, misses: 3, joined: 0, errors: 0 });
        },
        { ...wide, maxEntries: 2 },
      ));

    test('evicts as many entries as the bytes of a new one need', () =>
      withCache(
        async cache => {
          for (const key of ['a', 'b', 'c']) await keep(cache, key, 'x'.repeat(29));
          await counts(cache, { entries: 3, bytes: 90 });
          await keep(cache, 'd', 'x'.repeat(49));
          assert.equal(await isThere(cache, 'a'), false);
          assert.equal(await isThere(cache, 'b'), false);
          await counts(cache, { entries: 2, bytes: 80, evictions: 2 });
        },
        { ...wide, maxBytes: 100 },
      ));

    test('keeps a value that fills it exactly, and returns but does not keep a larger one', () =>
      withCache(
        async cache => {
          await keep(cache, 'a', 'x'.repeat(99));
          await counts(cache, { entries: 1, bytes: 100 });
          await keep(cache, 'b', 'x'.repeat(100));
          assert.equal(await isThere(cache, 'b'), false);
          await isHit(cache, 'a', 'x'.repeat(99));
          await counts(cache, { entries: 1, bytes: 100, evictions: 0 });
        },
        { ...wide, maxBytes: 100 },
      ));

    test('stays within its bounds during 200 concurrent fills', () =>
      withCache(
        async cache => {
          const sizes = Array.from({ length: 200 }, (_, index) => (index * 37) % 90);
          await Promise.all(
            sizes.map((size, index) =>
              cache.getOrFill(`${1000 + index}`, forLong, giving('x'.repeat(size)), never),
            ),
          );
          const stats = await cache.stats();
          const there: number[] = [];
          for (const [index, size] of sizes.entries())
            if (await isThere(cache, `${1000 + index}`)) there.push(4 + size);
          const bytes = there.reduce((sum, own) => sum + own, 0);
          assert.deepEqual([stats.entries, stats.bytes], [there.length, bytes]);
          assert.equal(stats.entries + stats.evictions, 200);
          assert.ok(bytes <= 1_000 && bytes > 900, `${bytes} bytes are kept`);
          assert.ok(there.length <= 25);
          await counts(cache, { misses: 200, hits: 0, joined: 0, errors: 0 });
        },
        { maxEntries: 25, maxBytes: 1_000 },
      ));

    test('keeps no entry beyond its TTL', () =>
      at(async place => {
        const cache = await place.cache();
        await keep(cache, 'long', 'kept');
        await keep(cache, 'short', 'gone', { ...forLong, ttlMs: 500 });
        await isHit(cache, 'short', 'gone');
        assert.equal((await cache.hit('short'))?.value, 'gone');
        await place.outlive(500);
        assert.equal(await cache.hit('short'), undefined);
        await counts(cache, { entries: 1, bytes: 8 });
        assert.equal(await isThere(cache, 'short'), false);
        await keep(cache, 'short', 'filled again');
      }));

    test('removes expired entries before it evicts others', () =>
      at(async place => {
        const cache = await place.cache({ ...wide, maxEntries: 2 });
        await keep(cache, 'long', 'kept');
        await keep(cache, 'short', 'gone', { ...forLong, ttlMs: 500 });
        await place.outlive(500);
        await keep(cache, 'new', 'kept');
        await isHit(cache, 'long', 'kept');
        await counts(cache, { entries: 2, evictions: 0 });
      }));

    test('does not keep an entry with a TTL of 0', () =>
      withCache(async cache => {
        await keep(cache, 'a', 'now', { ...forLong, ttlMs: 0 });
        assert.equal(await isThere(cache, 'a'), false);
      }));

    test('fills once for 200 concurrent calls', () =>
      withCache(async cache => {
        const held = heldFill();
        const calls = Array.from({ length: 200 }, () =>
          cache.getOrFill('a', forLong, held.fill, never),
        );
        await held.begun();
        held.letGo();
        const found = await Promise.all(calls);
        assert.equal(held.seen.calls, 1);
        assert.deepEqual(new Set(found.map(({ value }) => value)), new Set(['filled']));
        assert.equal(found.filter(({ from }) => from === 'filled').length, 1);
        assert.equal(found.filter(({ from }) => from === 'joined').length, 199);
        await counts(cache, { misses: 1, joined: 199, hits: 0, entries: 1 });
      }));

    test('fills different keys concurrently', () =>
      withCache(async cache => {
        const [one, other] = [heldFill('one'), heldFill('other')];
        const first = cache.getOrFill('a', forLong, one.fill, never);
        const second = cache.getOrFill('b', forLong, other.fill, never);
        await one.begun();
        await other.begun();
        other.letGo();
        assert.equal((await second).value, 'other');
        one.letGo();
        assert.equal((await first).value, 'one');
      }));

    test('returns a value that must not be kept to the waiting calls, and to none after them', () =>
      withCache(async cache => {
        const held = heldFill('once', false);
        const calls = [1, 2, 3].map(() => cache.getOrFill('a', forLong, held.fill, never));
        await held.begun();
        held.letGo();
        assert.deepEqual(
          (await Promise.all(calls)).map(({ value }) => value),
          ['once', 'once', 'once'],
        );
        assert.equal(await isThere(cache, 'a'), false);
        await keep(cache, 'a', 'again');
      }));

    test('fails all calls that wait for a failing fill, and fills the next time', () =>
      withCache(async cache => {
        const held = heldFill();
        const calls = [1, 2, 3].map(() => cache.getOrFill('a', forLong, held.fill, never));
        await held.begun();
        held.fail(new Error('no model'));
        for (const outcome of await Promise.allSettled(calls))
          assert.match(String(outcome.status === 'rejected' && outcome.reason), /no model/);
        assert.equal(held.seen.calls, 1);
        await keep(cache, 'a', 'again');
      }));

    test('releases a call that is aborted, and lets the others wait', () =>
      withCache(async cache => {
        const held = heldFill();
        const [leader, other] = [new AbortController(), new AbortController()];
        const first = cache.getOrFill('a', forLong, held.fill, leader.signal);
        const second = cache.getOrFill('a', forLong, held.fill, other.signal);
        await held.begun();
        leader.abort(new Error('the client has left'));
        await assert.rejects(first, /the client has left/);
        assert.equal(held.seen.aborted, 0);
        held.letGo();
        assert.deepEqual(await second, { value: 'filled', from: 'joined', ageMs: 0 });
        await isHit(cache, 'a', 'filled');
      }));

    test('aborts a fill for which no call waits, and fills again at once', () =>
      withCache(async cache => {
        const held = heldFill();
        const leaving = new AbortController();
        const call = cache.getOrFill('a', forLong, held.fill, leaving.signal);
        await held.begun();
        leaving.abort(new Error('the client has left'));
        await assert.rejects(call, /the client has left/);
        assert.equal(held.seen.aborted, 1);
        await keep(cache, 'a', 'anew');
        held.letGo();
        await nextTurn();
        await isHit(cache, 'a', 'anew');
      }));

    test('begins no fill for a call that is aborted already', () =>
      withCache(async cache => {
        const cancelled = AbortSignal.abort(new Error('too late'));
        await assert.rejects(cache.getOrFill('a', forLong, refused, cancelled), /too late/);
        await keep(cache, 'a', 'there');
        await assert.rejects(cache.getOrFill('a', forLong, refused, cancelled), /too late/);
      }));

    test('forgets by tag, or all, and returns the number of entries', () =>
      withCache(async cache => {
        const tags = ['editor', 'edit', 'editor"', '', '*', 'ä\n'];
        for (const tag of tags)
          for (const key of ['a', 'b']) await keep(cache, tag + key, 'x', tagged(tag));
        for (const [index, tag] of tags.slice(0, 4).entries()) {
          assert.equal(await cache.forget(tag), 2, tag);
          assert.equal(await cache.forget(tag), 0, tag);
          await counts(cache, { entries: 2 * (tags.length - index - 1) });
        }
        await isHit(cache, '*a', 'x');
        assert.equal(await cache.forget(), 4);
        await counts(cache, { entries: 0, bytes: 0, evictions: 0 });
        assert.equal(await cache.forget(), 0);
      }));

    test('forgets a thousand entries of a tag, and none of another tag', () =>
      withCache(async cache => {
        const names = Array.from({ length: 1_100 }, (_, index) => `${index}`);
        await Promise.all(
          names.map(name => cache.getOrFill(name, tagged('many'), giving(name), never)),
        );
        await keep(cache, 'other', 'stays');
        assert.equal(await cache.forget('many'), 1_100);
        await counts(cache, { entries: 1, bytes: 10 });
      }));

    test('does not keep a fill that began before a forget, and lets no later call join it', () =>
      withCache(async cache => {
        const [held, other] = [heldFill('stale'), heldFill('other')];
        const call = cache.getOrFill('a', tagged('one'), held.fill, never);
        const unconcerned = cache.getOrFill('b', tagged('two'), other.fill, never);
        await held.begun();
        await other.begun();
        assert.equal(await cache.forget('one'), 0);
        const anew = await cache.getOrFill('a', tagged('one'), giving('fresh'), never);
        assert.deepEqual([anew.value, anew.from], ['fresh', 'filled']);
        held.letGo();
        other.letGo();
        assert.equal((await call).value, 'stale');
        await unconcerned;
        await isHit(cache, 'a', 'fresh');
        await isHit(cache, 'b', 'other');
      }));

    test('rejects the waiting calls when it is stopped', () =>
      withCache(async cache => {
        const held = heldFill();
        const calls = [1, 2].map(() => cache.getOrFill('a', forLong, held.fill, never));
        const outcomes = Promise.allSettled(calls);
        await held.begun();
        await cache.stop();
        for (const outcome of await outcomes)
          assert.match(String(outcome.status === 'rejected' && outcome.reason), /shuts down/);
        assert.equal(held.seen.aborted, 1);
      }));

    if (kind.isShared) sharedPart(at);
  });
}

/** Contract of two hubs whose caches share a storage. */
function sharedPart(at: (run: (place: CachePlace) => Promise<void>) => Promise<void>): void {
  const withTwo = (
    run: (one: ExactCache, other: ExactCache) => Promise<void>,
    bounds?: CacheBounds,
  ) => at(async place => run(await place.cache(bounds), await place.cache(bounds)));

  test('is shared by two hubs', () =>
    withTwo(async (one, other) => {
      await keep(one, 'a', 'from one');
      await isHit(other, 'a', 'from one');
      await counts(one, { entries: 1, hits: 1, misses: 1 });
      await counts(other, { entries: 1, hits: 1, misses: 1 });
      assert.equal(await other.forget(), 1);
      assert.equal(await isThere(one, 'a'), false);
    }));

  test('fills once in each hub for 200 concurrent calls from two hubs', () =>
    withTwo(async (one, other) => {
      const held = heldFill();
      const calls = Array.from({ length: 200 }, (_, index) =>
        (index % 2 === 0 ? one : other).getOrFill('a', forLong, held.fill, never),
      );
      await until(() => held.seen.calls === 2, 'the fills to begin');
      held.letGo();
      const found = await Promise.all(calls);
      assert.equal(found.filter(({ from }) => from === 'filled').length, 2);
      assert.equal(found.filter(({ from }) => from === 'joined').length, 198);
      await counts(one, { misses: 2, joined: 198, hits: 0, entries: 1 });
    }));

  test('stays within its bounds during 200 concurrent fills from two hubs', () =>
    withTwo(
      async (one, other) => {
        const keys = Array.from({ length: 200 }, (_, index) => `${1000 + index}`);
        await Promise.all(
          keys.map((key, index) =>
            (index % 2 === 0 ? one : other).getOrFill(key, forLong, giving('x'.repeat(26)), never),
          ),
        );
        const there = await Promise.all(keys.map(key => isThere(one, key)));
        assert.equal(there.filter(Boolean).length, 20);
        await counts(one, { entries: 20, bytes: 600, evictions: 180, misses: 200 });
      },
      { maxEntries: 20, maxBytes: 1_000 },
    ));

  test('does not keep a fill that another hub has forgotten, and lets no later call join it', () =>
    withTwo(async (one, other) => {
      const held = heldFill('stale');
      const call = one.getOrFill('a', forLong, held.fill, never);
      await held.begun();
      await other.forget('editor');
      await keep(other, 'a', 'fresh');
      await isHit(one, 'a', 'fresh');
      held.letGo();
      assert.equal((await call).value, 'stale');
      await isHit(one, 'a', 'fresh');
    }));
}
