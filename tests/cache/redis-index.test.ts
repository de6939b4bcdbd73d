import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRedisIndex } from '../../hub/cache/redis-index.ts';

/** Answer of Redis; undefined if it does not answer. */
type Words = readonly string[] | undefined;

const wordsOf = ({
  status = 'done',
  epoch = 'e',
  time = '5000',
  forgotten = '0',
  cursor = '0',
  more = 'all',
  figures = ['3', '60', '10', '20', '30', '40', '50'],
} = {}): Words => [status, epoch, time, forgotten, cursor, more, ...figures];

/** Creates an index over a Redis whose answers the test scripts. */
function openIndex(
  answers: (request: Readonly<Record<string, unknown>>) => Words = () => wordsOf(),
) {
  const clock = createManualClock();
  const requests: Readonly<Record<string, unknown>>[] = [];
  const tell = (_script: string, [text]: readonly (string | number)[]) => {
    const request: unknown = JSON.parse(String(text));
    assert.ok(isObject(request));
    requests.push(request);
    const answer = Promise.resolve(answers(request));
    return { inTime: () => answer, atLast: answer };
  };
  return { clock, requests, index: createRedisIndex({ tell }, 'channel', clock) };
}

/** Waits until the callbacks of all settled promises have run. */
const settle = () => new Promise(resolve => setImmediate(resolve));

describe('counts and uses', () => {
  test('are sent together, 20 ms after the first one', () => {
    const { index, clock, requests } = openIndex();
    index.count('hits');
    index.count('hits');
    index.count('joined');
    for (const key of ['a', 'b', 'a']) index.use(key);
    clock.advance(19);
    assert.deepEqual(requests, []);
    clock.advance(1);
    assert.deepEqual(requests, [{ counts: { hits: 2, joined: 1 }, uses: ['b', 'a'] }]);
    assert.equal(clock.waiting, 0);
  });

  test('are sent before a change, without a timer', () => {
    const { index, clock, requests } = openIndex();
    index.applySoon();
    index.count('misses');
    const forget = { tag: 'a', cursor: '0' };
    index.apply({ forget });
    assert.deepEqual(requests, [{ counts: { misses: 1 }, uses: [], forget }]);
    assert.equal(clock.waiting, 0);
  });

  test('are sent at once with 500 keys', () => {
    const { index, requests } = openIndex();
    for (let key = 0; key < 500; key++) index.use(String(key));
    assert.equal(requests.length, 1);
  });

  test.each([undefined, wordsOf({ status: 'OOM' })])(
    'that Redis did not accept are sent again',
    async words => {
      let answer: Words = words;
      const { index, requests } = openIndex(() => answer);
      index.count('errors');
      await index.apply({}).atLast;
      answer = wordsOf();
      await index.apply({}).atLast;
      await index.apply({}).atLast;
      assert.deepEqual(
        requests.map(({ counts }) => counts),
        [{ errors: 1 }, { errors: 1 }, {}],
      );
    },
  );
});

describe('an answer of Redis', () => {
  test('has the epoch, and the time of Redis from then on', async () => {
    const { index, clock } = openIndex();
    clock.advance(100);
    assert.equal(index.epoch, undefined);
    const answer = await index.apply({}).inTime();
    assert.deepEqual(answer, { refusal: undefined, forgotten: 0, cursor: '0', isMore: false });
    clock.advance(7);
    assert.deepEqual([index.epoch, index.redisTime()], ['e', 5_007]);
    index.forgetEpoch();
    assert.equal(index.epoch, undefined);
    clock.advance(20);
    await settle();
    assert.equal(index.epoch, 'e');
  });

  test('without an epoch gives none, and one with a refusal has its reason', async () => {
    const { index } = openIndex(() => wordsOf({ status: 'OOM', epoch: '' }));
    assert.equal((await index.apply({}).atLast)?.refusal, 'OOM');
    assert.equal(index.epoch, undefined);
  });
});

describe('the forget of a tag', () => {
  test('runs in steps, whose numbers are summed', async () => {
    const steps = [wordsOf({ forgotten: '500', cursor: '7' }), wordsOf({ forgotten: '2' })];
    const { index, requests } = openIndex(() => steps.shift());
    assert.equal(await index.forget('ä"'), 502);
    assert.deepEqual(
      requests.map(({ forget }) => forget),
      [
        { tag: '"ä\\""', cursor: '0' },
        { tag: '"ä\\""', cursor: '7' },
      ],
    );
    assert.equal(index.isForgetPending(), false);
  });

  test('that Redis did not accept is pending, and retried after a second', async () => {
    let words: Words = undefined;
    const { index, clock, requests } = openIndex(() => words);
    assert.equal(await index.forget('one'), 0);
    assert.deepEqual(
      ['one', 'two', undefined].map(tag => index.isForgetPending(tag)),
      [true, false, true],
    );
    clock.advance(999);
    assert.equal(requests.length, 1);
    clock.advance(1);
    await settle();
    assert.equal(clock.waiting, 1);
    words = wordsOf();
    clock.advance(1_000);
    await settle();
    assert.equal(index.isForgetPending(), false);
    assert.equal(clock.waiting, 0);
    assert.equal(requests.length, 3);
  });

  test('that was done in part is pending too', async () => {
    const steps = [wordsOf({ forgotten: '500', cursor: '7' }), undefined];
    const { index } = openIndex(() => steps.shift());
    assert.equal(await index.forget('one'), 500);
    assert.equal(index.isForgetPending('one'), true);
  });

  test('is pending while a forget of all is, which replaces all pending ones', async () => {
    let words: Words = undefined;
    const { index, requests } = openIndex(() => words);
    for (const tag of ['one', undefined]) await index.forget(tag);
    assert.equal(index.isForgetPending('other'), true);
    words = wordsOf();
    await index.forget();
    assert.equal(index.isForgetPending(), false);
    assert.deepEqual(requests.at(-1)?.['forget'], { tag: '', cursor: '0' });
  });

  test('is replaced by a forget of all beyond a hundred pending ones', async () => {
    const { index } = openIndex(() => undefined);
    for (let tag = 0; tag < 100; tag++) await index.forget(String(tag));
    assert.equal(index.isForgetPending('other'), false);
    await index.forget('100');
    assert.equal(index.isForgetPending('other'), true);
  });
});

describe('a stop', () => {
  test('sends all counts, also those that are added meanwhile', async () => {
    let reads = 2;
    const { index, requests } = openIndex(() => {
      if (reads-- > 0) index.count('hits');
      return wordsOf();
    });
    index.count('misses');
    await index.stop();
    assert.deepEqual(
      requests.map(({ counts }) => counts),
      [{ misses: 1 }, { hits: 1 }, { hits: 1 }, {}],
    );
  });

  test.each([undefined, wordsOf({ status: 'OOM' })])(
    'is not delayed by a Redis that accepts none',
    async words => {
      const { index, requests } = openIndex(() => words);
      index.count('misses');
      await index.stop();
      assert.equal(requests.length, 1);
    },
  );

  test('ends after a hundred attempts', async () => {
    const { index, requests } = openIndex(() => {
      index.count('hits');
      return wordsOf();
    });
    await index.stop();
    assert.equal(requests.length, 100);
  });

  test('ends the retries of a pending forget', async () => {
    const { index, clock } = openIndex(() => undefined);
    await index.forget('one');
    assert.equal(clock.waiting, 1);
    await index.stop();
    assert.equal(clock.waiting, 0);
  });

  test('is followed by no retry of a later forget', async () => {
    const { index, clock } = openIndex(() => undefined);
    await index.stop();
    await index.forget('one');
    assert.equal(clock.waiting, 0);
  });
});

describe('statistics', () => {
  const known = {
    entries: 3,
    bytes: 60,
    hits: 10,
    misses: 20,
    joined: 30,
    evictions: 40,
    errors: 50,
  };

  test('come from Redis once no expired entries remain', async () => {
    const answers = [wordsOf({ more: 'more', figures: ['9'] }), wordsOf()];
    const { index } = openIndex(() => answers.shift());
    assert.deepEqual(await index.figures(), known);
  });

  test('are the latest ones and the counts not sent yet, if Redis does not answer', async () => {
    let words = wordsOf();
    const { index } = openIndex(() => words);
    await index.figures();
    words = undefined;
    index.count('hits');
    assert.deepEqual(await index.figures(), { ...known, hits: 11 });
  });
});
