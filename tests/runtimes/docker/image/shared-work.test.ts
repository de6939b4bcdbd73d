import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createSharedWork } from '../../../../hub/runtimes/docker/image/shared-work.ts';

const never = new AbortController().signal;
const quiet = () => {};

describe('shared work', () => {
  test('is done once for all concurrent callers, and all get its progress', async () => {
    const shared = createSharedWork(2);
    const release = Promise.withResolvers<void>();
    let runs = 0;
    const heard: string[] = [];
    const work = async (progress: (text: string) => void) => {
      runs++;
      await release.promise;
      progress('half');
    };
    const all = ['a', 'b'].map(who =>
      shared.join('key', work, text => heard.push(`${who} ${text}`), never),
    );
    release.resolve();
    await Promise.all(all);
    assert.equal(runs, 1);
    assert.deepEqual(heard, ['a half', 'b half']);
    await shared.join('key', work, quiet, never);
    assert.equal(runs, 2, 'what is over is done again for who asks later');
  });

  test('fails for all callers', async () => {
    const shared = createSharedWork(1);
    const work = () => Promise.reject(new Error('no luck'));
    const all = [1, 2].map(() => shared.join('key', work, quiet, never));
    for (const one of all) await assert.rejects(one, /no luck/);
  });

  test('continues while one caller is left, and is aborted with the last', async () => {
    const shared = createSharedWork(1);
    const [first, second] = [new AbortController(), new AbortController()];
    let aborted = false;
    const work = async (_: unknown, signal: AbortSignal) => {
      const over = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => {
        aborted = true;
        over.reject(new Error('aborted'));
      });
      await over.promise;
    };
    const one = shared.join('key', work, quiet, first.signal);
    const other = shared.join('key', work, quiet, second.signal);
    first.abort(new Error('first left'));
    await assert.rejects(one, /first left/);
    assert.equal(aborted, false);
    second.abort(new Error('second left'));
    await assert.rejects(other, /second left/);
    assert.equal(aborted, true);
  });

  test('is limited: no more than the given number runs at once, and all get their turn', async () => {
    const shared = createSharedWork(2);
    let active = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++active);
      await new Promise(setImmediate);
      active--;
    };
    await Promise.all([1, 2, 3, 4, 5].map(key => shared.join(`${key}`, work, quiet, never)));
    assert.equal(most, 2);
    assert.equal(active, 0);
  });
});
