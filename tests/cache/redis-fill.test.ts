import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { never } from '#helpers/never';
import type { Fill } from '../../hub/cache/exact-cache.ts';
import { createRedisFill, parseMessage } from '../../hub/cache/redis-fill.ts';
import type { IndexChange } from '../../hub/cache/redis-index.ts';
import { claimScript, renewScript } from '../../hub/cache/redis-scripts.ts';

type Words = readonly string[] | undefined;

const keep = { tag: 'editor', ttlMs: 60_000.5 };
const giving =
  (value: string, isKept = true): Fill =>
  async () => ({ value, isKept });
const refused: Fill = () => assert.fail('filled');
const hitOf = (value: string): Words => ['hit', `1000 9000 ${value}`, '1500'];

/** An answer that the test holds back, beyond the time of the caller if it is late. */
type Held = { readonly words: Promise<Words>; readonly isLate: boolean };

type Script = {
  /** Answers to claims, in order. */
  readonly claims: readonly (Words | Held)[];
  readonly renewals?: readonly (Words | Promise<Words>)[];
  readonly isPending?: () => boolean;
  readonly refusal?: string;
};

const nothing = Promise.resolve(undefined);

/** Fills over a Redis that answers as the test says. */
function openFill({ claims, renewals = [], isPending = () => false, refusal }: Script) {
  const clock = createManualClock();
  const [left, leftRenewals] = [[...claims], [...renewals]];
  const changes: IndexChange[] = [];
  const values: string[] = [];
  const events: string[] = [];
  let ids = 0;
  const fills = createRedisFill(
    { maxEntries: 10, maxBytes: 1_000, lockMs: 2_000, pollMs: 250 },
    {
      clock,
      newId: () => `id${ids++}`,
      client: {
        ask(script) {
          assert.equal(script, claimScript);
          assert.ok(left.length > 0, 'it claims no more');
          events.push('claim');
          const next = left.shift();
          const isHeld = next !== undefined && 'words' in next;
          const atLast = isHeld ? next.words : Promise.resolve(next);
          return { inTime: () => (isHeld && next.isLate ? nothing : atLast), atLast };
        },
        tell(script) {
          assert.equal(script, renewScript);
          events.push('renew');
          const answer = Promise.resolve(leftRenewals.shift());
          return { inTime: () => answer, atLast: answer };
        },
        failed: reason => void events.push(`failed: ${reason}`),
      },
      index: {
        apply(change, value = '') {
          changes.push(change);
          values.push(value);
          const answer = Promise.resolve({ refusal, forgotten: 0, cursor: '0', isMore: false });
          return { inTime: () => answer, atLast: answer };
        },
        applySoon: () => {},
        count: name => void events.push(name),
        isForgetPending: isPending,
        use: () => {},
      },
    },
  );
  return {
    ...fills,
    clock,
    changes,
    values,
    events,
    outcomes: () => changes.map(({ fill }) => fill?.outcome),
    fill: (fill: Fill, options: Parameters<typeof fills.fillThrough>[1] = keep, signal = never) =>
      fills.fillThrough('a', options, fill, signal),
  };
}

/** Lets all promises that are settled go on. */
const settle = () => new Promise(resolve => setImmediate(resolve));

describe('an entry in Redis', () => {
  test('is a hit, with its age by the clock of Redis', async () => {
    const scene = openFill({ claims: [hitOf('one')] });
    assert.deepEqual(await scene.fill(refused), { value: 'one', from: 'hit', ageMs: 500 });
    assert.deepEqual(scene.events, ['claim', 'hits']);
    assert.deepEqual(scene.changes, []);
  });

  test.for([
    ['of another program', ['hit', 'x', '1500']],
    ['that has expired', ['hit', '1000 1500 x', '1500']],
    ['that the caller cannot read', hitOf('unreadable')],
  ] as const)('%s is removed, and filled anew', async ([, words]) => {
    const scene = openFill({ claims: [words, ['yours']] });
    const found = await scene.fill(giving('new'), {
      ...keep,
      isReadable: value => value !== 'unreadable',
    });
    assert.equal(found.from, 'filled');
    assert.deepEqual(scene.changes[0], { drop: 'a' });
    assert.equal(scene.values[0], words?.[1]);
    assert.deepEqual(scene.outcomes().slice(1), ['kept']);
  });

  test('that is unreadable again is not removed again, and nothing is kept', async () => {
    const scene = openFill({
      claims: [
        ['hit', 'x', '1'],
        ['hit', 'y', '1'],
      ],
    });
    assert.equal((await scene.fill(giving('new'))).value, 'new');
    assert.deepEqual(scene.changes, [{ drop: 'a' }]);
  });
});

describe('a value that this hub fills', () => {
  test('is kept under its lock, with the bounds of the cache', async () => {
    const scene = openFill({ claims: [['yours']] });
    assert.deepEqual(await scene.fill(giving('new')), { value: 'new', from: 'filled', ageMs: 0 });
    assert.deepEqual(scene.changes, [
      {
        fill: {
          key: 'a',
          tag: '"editor"',
          token: 'id0 id1',
          outcome: 'kept',
          ttlMs: 60_000,
          maxEntries: 10,
          maxBytes: 1_000,
        },
      },
    ]);
    assert.deepEqual(scene.values, ['new']);
    assert.deepEqual(scene.events, ['claim', 'misses']);
    assert.equal(scene.clock.waiting, 0);
  });

  test('is kept for a year at most', async () => {
    const scene = openFill({ claims: [['yours']] });
    await scene.fill(giving('new'), { ...keep, ttlMs: 1e15 });
    assert.equal(scene.changes[0]?.fill?.ttlMs, 31_536_000_000);
  });

  test.for([
    ['not to be kept', giving('new', false), keep, 'given'],
    ['without time to live', giving('new'), { ...keep, ttlMs: 0.5 }, 'given'],
    ['that UTF-8 cannot carry', giving('\ud83d'), keep, 'failed'],
  ] as const)('%s is %s', async ([, fill, options, outcome]) => {
    const scene = openFill({ claims: [['yours']] });
    await scene.fill(fill, options);
    assert.deepEqual(scene.outcomes(), [outcome]);
  });

  test('that fails ends its lock', async () => {
    const scene = openFill({ claims: [['yours']] });
    await assert.rejects(
      scene.fill(() => Promise.reject(new Error('no model'))),
      /no model/,
    );
    assert.deepEqual(scene.outcomes(), ['failed']);
  });

  test('that is cancelled ends its lock at once, and once', async () => {
    const scene = openFill({ claims: [['yours']] });
    const gone = new AbortController();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const filling = scene.fill(
      async () => {
        begin();
        await held.promise;
        return { value: 'late', isKept: true };
      },
      keep,
      gone.signal,
    );
    await begun;
    gone.abort(new Error('gone'));
    assert.deepEqual(scene.outcomes(), ['failed']);
    held.resolve();
    await filling;
    assert.deepEqual(scene.outcomes(), ['failed']);
    assert.equal(scene.clock.waiting, 0);
  });

  test('that Redis has no room for is told to the status', async () => {
    const scene = openFill({ claims: [['yours']], refusal: 'OOM' });
    assert.equal((await scene.fill(giving('new'))).value, 'new');
    assert.deepEqual(scene.events.at(-1), 'failed: OOM');
  });
});

describe('a lock', () => {
  test('is renewed each quarter of its lease, until another hub has it', async () => {
    const scene = openFill({ claims: [['yours']], renewals: [['yours'], undefined, ['lost']] });
    const held = Promise.withResolvers<void>();
    const filling = scene.fill(async () => {
      await held.promise;
      return { value: 'new', isKept: true };
    });
    await settle();
    for (const renewals of [1, 2, 3, 3]) {
      scene.clock.advance(500);
      await settle();
      assert.equal(scene.events.filter(event => event === 'renew').length, renewals);
    }
    held.resolve();
    await filling;
    assert.deepEqual(scene.changes, []);
  });

  test('is not renewed any more when an answer comes after its end', async () => {
    const answer = Promise.withResolvers<Words>();
    const scene = openFill({ claims: [['yours']], renewals: [answer.promise] });
    await scene.fill(async () => {
      scene.clock.advance(500);
      return { value: 'new', isKept: true };
    });
    answer.resolve(['yours']);
    await settle();
    assert.deepEqual([scene.outcomes(), scene.clock.waiting], [['kept'], 0]);
  });

  test('that Redis grants too late is given back', async () => {
    const late = Promise.withResolvers<Words>();
    const scene = openFill({ claims: [{ words: late.promise, isLate: true }] });
    assert.equal((await scene.fill(giving('new'))).value, 'new');
    assert.deepEqual(scene.changes, []);
    late.resolve(['yours']);
    await settle();
    assert.deepEqual(scene.outcomes(), ['failed']);
    assert.equal(scene.clock.waiting, 0);
  });

  test('that Redis grants while the value is filled is used', async () => {
    const late = Promise.withResolvers<Words>();
    const scene = openFill({ claims: [{ words: late.promise, isLate: true }] });
    const found = scene.fill(async () => {
      late.resolve(['yours']);
      await settle();
      return { value: 'new', isKept: true };
    });
    await found;
    assert.deepEqual(scene.outcomes(), ['kept']);
  });

  test('is not asked for while entries of the tag have to be forgotten', async () => {
    const scene = openFill({ claims: [], isPending: () => true });
    assert.equal((await scene.fill(giving('new'))).from, 'filled');
    assert.deepEqual(scene.changes, []);
  });
});

describe('a call that waits for another hub', () => {
  const waiting: Words = ['wait', '2000'];

  test('gets the value that is not kept', async () => {
    const scene = openFill({ claims: [waiting] });
    const found = scene.fill(refused);
    await settle();
    scene.hear({ kind: 'ended', key: 'other', given: 'not this' });
    scene.hear({ kind: 'ended', key: 'a', given: 'once' });
    assert.deepEqual(await found, { value: 'once', from: 'joined', ageMs: 0 });
    assert.deepEqual(scene.events, ['claim', 'joined']);
    assert.equal(scene.clock.waiting, 0);
  });

  test('finds the value that is kept', async () => {
    const scene = openFill({ claims: [waiting, hitOf('one')] });
    const found = scene.fill(refused);
    await settle();
    scene.hear({ kind: 'ended', key: 'a', given: undefined });
    assert.equal((await found).from, 'joined');
    assert.deepEqual(scene.events, ['claim', 'claim', 'joined']);
  });

  test('fills for itself where the connection is lost', async () => {
    const scene = openFill({ claims: [waiting, undefined] });
    const found = scene.fill(giving('own'));
    await settle();
    scene.hear({ kind: 'lost' });
    assert.equal((await found).value, 'own');
    assert.deepEqual(scene.changes, []);
  });

  test.for([
    ['the poll', '2000', 250],
    ['the end of the lock', '99', 100],
  ] as const)('looks by itself after %s', async ([, leftMs, waitMs]) => {
    const scene = openFill({ claims: [['wait', leftMs], ['yours']] });
    const found = scene.fill(giving('own'));
    await settle();
    scene.clock.advance(waitMs - 1);
    await settle();
    assert.deepEqual(scene.events, ['claim']);
    scene.clock.advance(1);
    assert.equal((await found).value, 'own');
    assert.deepEqual(scene.outcomes(), ['kept']);
  });

  test('may leave', async () => {
    const scene = openFill({ claims: [waiting] });
    const gone = new AbortController();
    const found = scene.fill(refused, keep, gone.signal);
    await settle();
    gone.abort(new Error('gone'));
    await assert.rejects(found, /gone/);
    assert.deepEqual([scene.changes, scene.clock.waiting], [[], 0]);
  });
});

test('a call that leaves before Redis answers gives back the lock that it is granted', async () => {
  const held = Promise.withResolvers<Words>();
  const scene = openFill({ claims: [{ words: held.promise, isLate: false }] });
  const gone = new AbortController();
  const found = scene.fill(refused, keep, gone.signal);
  gone.abort(new Error('gone'));
  held.resolve(['yours']);
  await assert.rejects(found, /gone/);
  assert.deepEqual(scene.outcomes(), ['failed']);
  assert.equal(scene.clock.waiting, 0);
});

test.for([
  ['{"forgot":""}', { kind: 'forgot', tag: undefined }],
  ['{"forgot":"\\"a\\\\\\"\\""}', { kind: 'forgot', tag: 'a"' }],
  ['{"forgot":"no JSON"}', undefined],
  ['{"key":"a","outcome":"given","value":"v"}', { kind: 'ended', key: 'a', given: 'v' }],
  ['{"key":"a","outcome":"given","value":1}', { kind: 'ended', key: 'a', given: undefined }],
  ['{"key":"a","outcome":"kept","value":"v"}', { kind: 'ended', key: 'a', given: undefined }],
  ['{"key":1}', undefined],
  ['{}', undefined],
  ['[]', undefined],
  ['null', undefined],
  ['hello', undefined],
] as const)('the message %s is %o', ([text, expected]) =>
  assert.deepEqual(parseMessage(text), expected),
);
