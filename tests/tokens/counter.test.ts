import assert from 'node:assert/strict';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createTokenCounter } from '#tokens';

/** Creates a counter that counts characters, and records its batches. */
function scripted(outcomes: readonly ('fail' | undefined)[] = []) {
  const batches: (readonly string[])[] = [];
  let running = 0;
  const counter = createTokenCounter({
    clock: systemClock,
    async countAll(texts) {
      assert.equal(++running, 1, 'two batches are counted at once');
      await new Promise(setImmediate);
      running--;
      const outcome = outcomes[batches.push(texts) - 1];
      if (outcome === 'fail') throw new Error('the thread ended');
      return texts.map(({ length }) => length);
    },
  });
  return { counter, batches };
}

test('each text is counted once for all callers, and one batch at a time', async () => {
  const { counter, batches } = scripted();
  const asked = [counter.count(['a', 'bb', 'a']), counter.count(['bb', 'ccc'])];
  assert.deepEqual(await Promise.all(asked), [
    [1, 2, 1],
    [2, 3],
  ]);
  assert.deepEqual(await counter.count(['ccc', 'a']), [3, 1]);
  assert.deepEqual(batches, [['a', 'bb'], ['ccc']]);
});

test('texts that could not be counted have no count, and are counted at the next request', async () => {
  const { counter } = scripted(['fail']);
  assert.deepEqual(await counter.count(['a']), [undefined]);
  assert.deepEqual(await counter.count(['a']), [1]);
});

test('an empty list of texts starts no count', async () => {
  const { counter, batches } = scripted();
  assert.deepEqual(await counter.count([]), []);
  assert.deepEqual(batches, []);
});
