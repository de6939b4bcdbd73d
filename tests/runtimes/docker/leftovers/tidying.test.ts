import assert from 'node:assert/strict';
import { createManualClock } from '#helpers/clock';
import { test } from 'vitest';
import { removeBuildNetwork } from '../../../../hub/runtimes/docker/leftovers/tidying.ts';

/** An engine that refuses to remove a network so many times. */
function engineThatRefuses(times: number, words: string) {
  let asked = 0;
  return {
    get asked() {
      return asked;
    },
    async removeNetwork(): Promise<void> {
      asked++;
      if (asked <= times) throw new Error(words);
    },
  };
}

const inUse = 'network net has active endpoints';
/** Lets what has been resolved go on. */
const turn = () => new Promise(resolve => setImmediate(resolve));

test('a network is removed once the container on it is gone', async () => {
  const clock = createManualClock();
  const engine = engineThatRefuses(2, inUse);
  const removed = removeBuildNetwork('net', { engine, clock });
  for (let look = 0; look < 2; look++) {
    await turn();
    clock.advance(100);
  }
  await removed;
  assert.equal(engine.asked, 3);
});

test('a network that stays in use is refused in the words of the engine', async () => {
  const clock = createManualClock();
  const engine = engineThatRefuses(Infinity, inUse);
  const removed = assert.rejects(removeBuildNetwork('net', { engine, clock }), /active endpoints/);
  for (let look = 0; look <= 100; look++) {
    await turn();
    clock.advance(100);
  }
  await removed;
});

test('any other refusal is not repeated', async () => {
  const engine = engineThatRefuses(1, 'permission denied');
  await assert.rejects(
    removeBuildNetwork('net', { engine, clock: createManualClock() }),
    /permission denied/,
  );
  assert.equal(engine.asked, 1);
});
