import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'vitest';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { type Point, type Vectors, VectorsFailure } from '#vectors';
import { createDice, vectorOf } from './random.ts';

type VectorsKind = {
  readonly name: string;
  /** Opens and starts vectors in new storage. `again` opens the same storage once more after `stop`. */
  open(
    clock: ManualClock,
  ): Promise<{ readonly vectors: Vectors; readonly again: () => Promise<Vectors> }>;
};

/** Returns a direction in the plane, by its angle in degrees. */
export const at = (degrees: number): Float32Array =>
  Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180));

export function pointOf(
  vector: Float32Array,
  more: { readonly id?: string; readonly [field: string]: string | number } = {},
): Point {
  const { id = randomUUID(), ...payload } = more;
  return {
    id: String(id),
    vector,
    payload: { scope: 'one', tag: 'client', expires_at: 2_000_000_000_000, ...payload },
  };
}

export const isFailure =
  (kind: VectorsFailure['kind'], words = /./) =>
  (error: unknown) =>
    error instanceof VectorsFailure && error.kind === kind && words.test(error.message);

export const roomy = { scope: 'one', maxPerScope: 1_000 } as const;
const all = { scope: 'one', limit: 1_000, minScore: -2 } as const;

/** Returns the field `name` of the points that are found, nearest first. */
export async function namesIn(
  vectors: Vectors,
  collection = 'docs',
  options: { readonly scope?: string; readonly limit?: number; readonly minScore?: number } = {},
  vector = at(0),
): Promise<readonly unknown[]> {
  const near = await vectors.near(collection, vector, { ...all, ...options });
  return near.map(({ payload }) => payload['name']);
}

/** Contract of `Vectors`, for every kind of it. */
export function vectorsContract(kind: VectorsKind): void {
  const on = async (
    run: (
      vectors: Vectors,
      more: { readonly clock: ManualClock; readonly again: () => Promise<Vectors> },
    ) => Promise<void>,
  ) => {
    const clock = createManualClock();
    const { vectors, again } = await kind.open(clock);
    try {
      await run(vectors, { clock, again });
    } finally {
      await vectors.stop();
    }
  };

  describe(`vectors ${kind.name}`, () => {
    test('the nearest are found in order with their cosines, like by a comparison of all', () =>
      on(async vectors => {
        const dice = createDice(7);
        const points = Array.from({ length: 300 }, () => pointOf(vectorOf(dice, 24)));
        for (const point of points) await vectors.put('docs', point, roomy);
        for (let round = 0; round < 20; round++) {
          const asked = vectorOf(dice, 24);
          const expected = points
            .map(({ id, vector }) => ({ id, score: cosine(asked, vector) }))
            .toSorted((a, b) => b.score - a.score)
            .slice(0, 5);
          const found = await vectors.near('docs', asked, { ...all, limit: 5 });
          assert.deepEqual(
            found.map(({ id }) => id),
            expected.map(({ id }) => id),
          );
          for (const [index, { score }] of found.entries())
            assert.ok(Math.abs(score - (expected[index]?.score ?? 2)) < 1e-5);
        }
      }));

    test('the length of a vector does not matter, and the same direction has a score of one', () =>
      on(async vectors => {
        await vectors.put('docs', pointOf(Float32Array.of(30, 40)), roomy);
        const [found] = await vectors.near('docs', Float32Array.of(0.3, 0.4), all);
        assert.ok(found && found.score <= 1 && found.score > 0.999_999);
      }));

    test('only points above the threshold are found, up to the limit', () =>
      on(async vectors => {
        for (const degrees of [5, 20, 40, 80])
          await vectors.put('docs', pointOf(at(degrees), { name: degrees }), roomy);
        assert.deepEqual(await namesIn(vectors, 'docs', { minScore: 0.9 }), [5, 20]);
        assert.deepEqual(await namesIn(vectors, 'docs', { limit: 3 }), [5, 20, 40]);
        assert.deepEqual(await namesIn(vectors, 'docs', { limit: 0 }), []);
      }));

    test('another scope and another collection are not searched', () =>
      on(async vectors => {
        await vectors.put('docs', pointOf(at(0), { name: 'mine' }), roomy);
        const other = { scope: 'two', maxPerScope: 10 };
        await vectors.put('docs', pointOf(at(0), { name: 'theirs', scope: 'two' }), other);
        await vectors.put('notes', pointOf(at(0), { name: 'elsewhere' }), roomy);
        assert.deepEqual(await namesIn(vectors), ['mine']);
        assert.deepEqual(await namesIn(vectors, 'docs', { scope: 'two' }), ['theirs']);
        assert.deepEqual(await namesIn(vectors, 'docs', { scope: 'on' }), []);
        assert.deepEqual(await namesIn(vectors, 'notes'), ['elsewhere']);
      }));

    test('names of collections that differ in special characters only are distinguished', () =>
      on(async vectors => {
        const names = [
          'nomic-embed-text:latest@sha256/0a',
          'nomic-embed-text_latest@sha256/0a',
          'ä b',
        ];
        for (const name of names) await vectors.put(name, pointOf(at(0), { name }), roomy);
        for (const name of names) assert.deepEqual(await namesIn(vectors, name), [name]);
      }));

    test('expired points are neither found nor counted', () =>
      on(async (vectors, { clock }) => {
        const soon = clock.now() + 60_000;
        await vectors.put('docs', pointOf(at(0), { name: 'short', expires_at: soon }), roomy);
        await vectors.put('docs', pointOf(at(10), { name: 'long' }), roomy);
        assert.deepEqual(await namesIn(vectors), ['short', 'long']);
        clock.advance(59_999);
        assert.deepEqual(await namesIn(vectors), ['short', 'long']);
        clock.advance(1);
        assert.deepEqual(await namesIn(vectors), ['long']);
        assert.equal((await vectors.stats()).entries, 1);
      }));

    test('a point that is put again under its id is replaced, and becomes the newest', () =>
      on(async vectors => {
        const id = randomUUID();
        const two = { scope: 'one', maxPerScope: 2 };
        await vectors.put('docs', pointOf(at(0), { id, name: 'before' }), two);
        await vectors.put('docs', pointOf(at(10), { name: 'second' }), two);
        assert.deepEqual(await namesIn(vectors), ['before', 'second']);
        await vectors.put('docs', pointOf(at(20), { id, name: 'after' }), two);
        assert.deepEqual(await namesIn(vectors), ['second', 'after']);
        await vectors.put('docs', pointOf(at(30), { name: 'third' }), two);
        assert.deepEqual(await namesIn(vectors), ['after', 'third']);
      }));

    test('a scope keeps its maximum, and drops the points that were put first', () =>
      on(async vectors => {
        const three = { scope: 'one', maxPerScope: 3 };
        const other = { scope: 'two', maxPerScope: 3 };
        await vectors.put('docs', pointOf(at(0), { scope: 'two', name: 'theirs' }), other);
        for (let degrees = 10; degrees <= 70; degrees += 10)
          await vectors.put('docs', pointOf(at(degrees), { name: degrees }), three);
        assert.deepEqual(await namesIn(vectors), [50, 60, 70]);
        assert.deepEqual(await namesIn(vectors, 'docs', { scope: 'two' }), ['theirs']);
      }));

    test('the maximum is exact after many concurrent puts, and after it was reduced', () =>
      on(async vectors => {
        const dice = createDice(11);
        await vectors.put('docs', pointOf(vectorOf(dice, 2)), roomy);
        const put = (maxPerScope: number) =>
          vectors.put('docs', pointOf(vectorOf(dice, 2)), { scope: 'one', maxPerScope });
        await Promise.all(Array.from({ length: 60 }, () => put(40)));
        assert.equal((await namesIn(vectors)).length, 40);
        await put(7);
        assert.equal((await namesIn(vectors)).length, 7);
      }));

    test('a payload is returned unchanged', () =>
      on(async vectors => {
        const answer = 'Zeile 1\r\n"quoted" \u2028 \u{1f600} \\ \0 end\n'.repeat(400);
        const point = pointOf(at(0), { answer, created_at: 1_750_000_000_123, ratio: 0.25 });
        await vectors.put('docs', point, roomy);
        const [found] = await vectors.near('docs', at(1), all);
        assert.equal(found?.id, point.id);
        assert.deepEqual({ ...found?.payload }, point.payload);
      }));

    test('a tag is removed from all collections and scopes, with the number of its points', () =>
      on(async vectors => {
        const two = { scope: 'two', maxPerScope: 10 };
        await vectors.put('docs', pointOf(at(0), { tag: 'a', name: 'a1' }), roomy);
        await vectors.put('docs', pointOf(at(0), { tag: 'a', scope: 'two' }), two);
        await vectors.put('notes', pointOf(at(0), { tag: 'a' }), roomy);
        await vectors.put('docs', pointOf(at(0), { tag: 'b', name: 'b1' }), roomy);
        await namesIn(vectors);
        assert.equal(await vectors.removeTag('a'), 3);
        assert.equal(await vectors.removeTag('a'), 0);
        assert.deepEqual(await namesIn(vectors), ['b1']);
        assert.deepEqual(await namesIn(vectors, 'notes'), []);
        assert.equal((await vectors.stats()).entries, 1);
      }));

    test('everything is removed without a tag, and later points are found', () =>
      on(async vectors => {
        const dice = createDice(3);
        for (let count = 0; count < 150; count++)
          await vectors.put('docs', pointOf(vectorOf(dice, 2), { tag: `tag-${count % 3}` }), roomy);
        assert.equal(await vectors.removeTag(), 150);
        assert.deepEqual(await namesIn(vectors), []);
        await vectors.put('docs', pointOf(at(0), { name: 'new' }), roomy);
        assert.deepEqual(await namesIn(vectors), ['new']);
      }));

    test('a vector of another length than those in the collection is refused, with that reason', () =>
      on(async vectors => {
        await vectors.put('docs', pointOf(at(0), { name: 'fits' }), roomy);
        const longer = Float32Array.of(1, 0, 0);
        await assert.rejects(
          vectors.put('docs', pointOf(longer), roomy),
          isFailure('dimension', /\b2\b.*\b3\b/),
        );
        await assert.rejects(
          vectors.near('docs', longer, all),
          isFailure('dimension', /\b2\b.*\b3\b/),
        );
        assert.deepEqual(await namesIn(vectors), ['fits']);
      }));

    test('a missing collection is empty', () =>
      on(async vectors => {
        assert.deepEqual(await namesIn(vectors, 'nowhere'), []);
        assert.equal(await vectors.removeTag('nobody'), 0);
        assert.equal((await vectors.stats()).entries, 0);
      }));

    test('a vector of zeros and a payload without its fields are refused', () =>
      on(async vectors => {
        for (const vector of [[], [0, 0], [Number.NaN, 1], [Infinity, 1]]) {
          const given = Float32Array.from(vector);
          await assert.rejects(vectors.put('docs', pointOf(given), roomy), isFailure('malformed'));
          await assert.rejects(vectors.near('docs', given, all), isFailure('malformed'));
        }
        const wrong = [{ tag: 1 }, { expires_at: 'later' }, { expires_at: 1.5 }, { scope: 'two' }];
        for (const payload of wrong)
          await assert.rejects(
            vectors.put('docs', pointOf(at(0), payload), roomy),
            isFailure('malformed', new RegExp(Object.keys(payload).join())),
          );
        assert.equal((await vectors.stats()).entries, 0);
      }));

    test('a cancelled call is not made', () =>
      on(async vectors => {
        const signal = AbortSignal.abort();
        await vectors.put('docs', pointOf(at(0), { name: 'first' }), roomy);
        await assert.rejects(
          vectors.put('docs', pointOf(at(0)), roomy, signal),
          isFailure('cancelled'),
        );
        await assert.rejects(vectors.near('docs', at(0), all, signal), isFailure('cancelled'));
        assert.deepEqual(await namesIn(vectors), ['first']);
      }));

    test('points survive the hub, with their order and their maximum', () =>
      on(async (vectors, { again, clock }) => {
        for (const degrees of [10, 20, 30])
          await vectors.put('docs', pointOf(at(degrees), { name: degrees }), roomy);
        await vectors.stop();
        clock.advance(1_000);
        const next = await again();
        try {
          assert.deepEqual(await namesIn(next), [10, 20, 30]);
          const three = { scope: 'one', maxPerScope: 3 };
          await next.put('docs', pointOf(at(40), { name: 40 }), three);
          assert.deepEqual(await namesIn(next), [20, 30, 40]);
        } finally {
          await next.stop();
        }
      }));

    test('calls after a stop fail with that reason', () =>
      on(async vectors => {
        await vectors.put('docs', pointOf(at(0)), roomy);
        await vectors.stop();
        await assert.rejects(vectors.near('docs', at(0), all), isFailure('stopped'));
        await assert.rejects(vectors.put('docs', pointOf(at(0)), roomy), isFailure('stopped'));
        const { status, error } = await vectors.stats();
        assert.equal(status, 'down');
        assert.match(error ?? '', /stopped/);
      }));
  });
}

function cosine(a: Float32Array, b: Float32Array): number {
  const product = (one: Float32Array, other: Float32Array) =>
    one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}
