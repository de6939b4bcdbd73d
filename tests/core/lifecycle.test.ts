import assert from 'node:assert/strict';
import { type Service, startAll } from '#core';
import { describe, test } from 'vitest';

/** Returns services that record their starts and stops in `done`; `broken` fails to start. */
function services(done: string[], names: readonly string[], broken?: string): readonly Service[] {
  return names.map(name => ({
    name,
    async start() {
      if (name === broken) throw new Error(`${name} is broken`);
      done.push(`start ${name}`);
    },
    async stop() {
      done.push(`stop ${name}`);
    },
  }));
}

const signal = new AbortController().signal;

describe('startAll', () => {
  test('starts in order, and stops in reverse when it is disposed', async () => {
    const done: string[] = [];
    const started = await startAll(services(done, ['a', 'b', 'c']), signal);
    assert.deepEqual(done.splice(0), ['start a', 'start b', 'start c']);
    await started[Symbol.asyncDispose]();
    await started[Symbol.asyncDispose]();
    assert.deepEqual(done, ['stop c', 'stop b', 'stop a']);
  });

  for (const [broken, expected] of [
    ['a', []],
    ['b', ['start a', 'stop a']],
    ['c', ['start a', 'start b', 'stop b', 'stop a']],
  ] as const)
    test(`stops what had started when ${broken} fails`, async () => {
      const done: string[] = [];
      await assert.rejects(startAll(services(done, ['a', 'b', 'c'], broken), signal), {
        message: `${broken} is broken`,
      });
      assert.deepEqual(done, expected);
    });

  test('stops what had started when it is aborted in between', async () => {
    const done: string[] = [];
    const abort = new AbortController();
    const [first, ...rest] = services(done, ['a', 'b']);
    assert.ok(first);
    const aborting = {
      ...first,
      async start(of: AbortSignal) {
        await first.start(of);
        abort.abort(new Error('enough'));
      },
    };
    await assert.rejects(startAll([aborting, ...rest], abort.signal), { message: 'enough' });
    assert.deepEqual(done, ['start a', 'stop a']);
  });

  test('stops the others when one service fails to stop', async () => {
    const done: string[] = [];
    const [first, second] = services(done, ['a', 'b']);
    assert.ok(first && second);
    const stuck = { ...second, stop: () => Promise.reject(new Error('stuck')) };
    const started = await startAll([first, stuck], signal);
    await assert.rejects(async () => started[Symbol.asyncDispose](), { message: 'stuck' });
    assert.deepEqual(done, ['start a', 'start b', 'stop a']);
  });
});
