import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createContainerUsages } from '../../hub/http/container-usage.ts';

describe('the usage of containers', () => {
  const usage = { memoryBytes: 5, memoryLimitBytes: 10, pids: 1, pidsLimit: 2, cpuMs: 1_500 };

  /** Creates servers that only report what their containers use. */
  function serversOf(
    usages: readonly (() => Promise<typeof usage | undefined>)[],
    nameOf = (index: number) => `s${index}`,
  ) {
    let asked = 0;
    const all = usages.map((read, index) => ({
      config: { name: nameOf(index) },
      running: {
        instance: {
          usage() {
            asked++;
            return read();
          },
        },
      },
    }));
    return { servers: () => all, asked: () => asked };
  }

  test('is read once in five seconds, and omitted where it is unknown', async () => {
    const clock = createManualClock();
    const { servers, asked } = serversOf([
      async () => usage,
      async () => undefined,
      () => Promise.reject(new Error('no engine')),
    ]);
    const usages = createContainerUsages(servers, clock);
    const [first, second] = await Promise.all([usages.read(), usages.read()]);
    assert.deepEqual([...first], [['s0', { memoryBytes: 5, cpuMs: 1_500 }]]);
    assert.equal(second, first);
    clock.advance(4_999);
    await usages.read();
    assert.equal(asked(), 3);
    clock.advance(1);
    await usages.read();
    assert.equal(asked(), 6);
  });

  test('is waited for two seconds, and what has arrived by then is returned', async () => {
    const clock = createManualClock();
    const { servers } = serversOf([async () => usage, () => new Promise(() => {})]);
    const read = createContainerUsages(servers, clock).read();
    let isOver = false;
    void read.then(() => (isOver = true));
    await new Promise(setImmediate);
    clock.advance(1_999);
    await new Promise(setImmediate);
    assert.equal(isOver, false);
    clock.advance(1);
    assert.deepEqual([...(await read).keys()], ['s0']);
  });

  test('is the sum of all instances of a server', async () => {
    const reads = [async () => usage, async () => undefined, async () => usage];
    const { servers } = serversOf(reads, () => 'echo');
    const all = () => [...servers(), { config: { name: 'stopped' }, running: undefined }];
    const read = await createContainerUsages(all, createManualClock()).read();
    assert.deepEqual([...read], [['echo', { memoryBytes: 10, cpuMs: 3_000 }]]);
  });

  test('that arrives too late does not change the returned one', async () => {
    const clock = createManualClock();
    const { promise, resolve } = Promise.withResolvers<typeof usage>();
    const { servers } = serversOf([() => promise]);
    const read = createContainerUsages(servers, clock).read();
    await new Promise(setImmediate);
    clock.advance(2_000);
    const shown = await read;
    resolve(usage);
    await promise;
    await new Promise(setImmediate);
    assert.equal(shown.size, 0);
  });
});
