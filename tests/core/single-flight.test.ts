import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createSingleFlight } from '#core';

const { signal: open } = new AbortController();

/** Creates work that the test ends. `signals` has one signal for each time the work began. */
function scripted() {
  const signals: AbortSignal[] = [];
  const ends: PromiseWithResolvers<number>[] = [];
  const work = (signal: AbortSignal) => {
    const end = Promise.withResolvers<number>();
    signals.push(signal);
    ends.push(end);
    return end.promise;
  };
  return { signals, ends, work };
}

describe('single flight', () => {
  test('runs the work of a key once for all callers that join, and again after it', async () => {
    const flights = createSingleFlight<number>();
    const { signals, ends, work } = scripted();
    const both = [1, 2].map(() => flights.join('a', work, open));
    assert.equal(signals.length, 1);
    assert.ok(flights.has('a'));
    ends[0]?.resolve(7);
    assert.deepEqual(await Promise.all(both), [7, 7]);
    assert.equal(flights.size, 0);
    const next = flights.join('a', work, open);
    ends[1]?.resolve(8);
    assert.equal(await next, 8);
  });

  test('runs the work of two keys concurrently', async () => {
    const flights = createSingleFlight<number>();
    const { ends, work } = scripted();
    const both = ['a', 'b'].map(key => flights.join(key, work, open));
    assert.equal(flights.size, 2);
    for (const [index, end] of ends.entries()) end.resolve(index);
    assert.deepEqual(await Promise.all(both), [0, 1]);
  });

  test('fails for all callers that joined', async () => {
    const flights = createSingleFlight<number>();
    const { ends, work } = scripted();
    const both = [1, 2].map(() => flights.join('a', work, open));
    ends[0]?.reject(new Error('no luck'));
    for (const one of both) await assert.rejects(one, { message: 'no luck' });
    assert.equal(flights.has('a'), false);
  });

  test('continues while one caller is left, and is aborted with the last one', async () => {
    const flights = createSingleFlight<number>();
    const { signals, ends, work } = scripted();
    const [first, second] = [new AbortController(), new AbortController()];
    const one = flights.join('a', work, first.signal);
    const other = flights.join('a', work, second.signal);
    first.abort(new Error('the first left'));
    await assert.rejects(one, { message: 'the first left' });
    assert.equal(signals[0]?.aborted, false);
    second.abort(new Error('the second left'));
    await assert.rejects(other, { message: 'the second left' });
    assert.equal(signals[0]?.aborted, true);
    // A new caller does not join aborted work, and the end of that work does not end the new work.
    const next = flights.join('a', work, open);
    assert.equal(signals.length, 2);
    ends[0]?.reject(new Error('given up'));
    await new Promise(setImmediate);
    assert.ok(flights.has('a'));
    ends[1]?.resolve(9);
    assert.equal(await next, 9);
  });

  test('starts no work for a caller that is aborted', async () => {
    const flights = createSingleFlight<number>();
    const { signals, work } = scripted();
    const gone = AbortSignal.abort(new Error('gone'));
    await assert.rejects(flights.join('a', work, gone), { message: 'gone' });
    assert.equal(signals.length, 0);
  });
});
