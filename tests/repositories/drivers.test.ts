import { expect, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import type { Exit, Instance, LaunchSpec } from '#runtimes';
import { createDrivers } from '../../hub/repositories/drivers.ts';
import { failureOf } from './harness.ts';

const specOf = async (root: string): Promise<LaunchSpec> => ({
  server: root,
  target: { kind: 'process', command: 'x', args: [] },
  env: {},
  maxLineBytes: 1,
  maxWaitingBytes: 1,
});

/** Creates drivers whose instances do nothing, and records the folders whose instances run. */
function createScene() {
  const clock = createManualClock();
  const running = new Map<string, (exit: Exit) => void>();
  const faults: Error[] = [];
  let launched = 0;
  const drivers = createDrivers({
    clock,
    log: silent,
    specOf,
    async launch({ server }): Promise<Instance> {
      launched++;
      const fault = faults.pop();
      if (fault) throw fault;
      const exited = Promise.withResolvers<Exit>();
      running.set(server, exit => {
        running.delete(server);
        exited.resolve(exit);
      });
      const { promise: closed } = Promise.withResolvers<never>();
      return {
        about: {},
        channel: { listen() {}, send() {}, closed, close() {} },
        exited: exited.promise,
        async stop() {
          running.get(server)?.({ detail: 'stopped' });
          return await exited.promise;
        },
        usage: async () => undefined,
      };
    },
  });
  return { clock, drivers, running, faults, launches: () => launched };
}

test('users of one folder share a driver, which is stopped a minute after the last use', async () => {
  const { clock, drivers, running, launches } = createScene();
  const [one, other] = await Promise.all([drivers.use('/a'), drivers.use('/a')]);
  expect(one.driver).toBe(other.driver);
  await one[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
  clock.advance(120_000);
  expect([...running.keys()]).toEqual(['/a']);
  await other[Symbol.asyncDispose]();
  clock.advance(59_000);
  const again = await drivers.use('/a');
  clock.advance(59_000);
  expect([launches(), [...running.keys()]]).toEqual([1, ['/a']]);
  await again[Symbol.asyncDispose]();
  clock.advance(60_000);
  await drivers.use('/b');
  expect([...running.keys()]).toEqual(['/b']);
});

test('work on one folder runs in order, also after a failure', async () => {
  const { drivers } = createScene();
  const { exclusive } = await drivers.use('/a');
  const { exclusive: same } = await drivers.use('/a');
  const order: number[] = [];
  const first = exclusive(async () => {
    await Promise.resolve();
    order.push(1);
    throw new Error('failed');
  });
  const second = same(async () => order.push(2));
  expect(await failureOf(first)).toContain('failed');
  await second;
  expect(order).toEqual([1, 2]);
});

test('a driver that has ended is replaced, and a failed start is not cached', async () => {
  const { drivers, running, faults, launches } = createScene();
  faults.push(new Error('no engine'));
  expect(await failureOf(drivers.use('/a'))).toContain('no engine');
  const { driver } = await drivers.use('/a');
  running.get('/a')?.({ detail: 'killed' });
  await Promise.resolve();
  expect(driver.ended).toBe('killed');
  const next = await drivers.use('/a');
  expect(next.driver).not.toBe(driver);
  expect(launches()).toBe(3);
});

test('above the limit idle drivers are stopped, and a use is refused if there are none', async () => {
  const { drivers, running } = createScene();
  const uses = [];
  for (let at = 0; at < 32; at++) uses.push(await drivers.use(`/${at}`));
  expect(await failureOf(drivers.use('/more'))).toContain('HUB_REPOSITORIES_FULL');
  await uses[7]?.[Symbol.asyncDispose]();
  await drivers.use('/more');
  expect(running.size).toBe(32);
  expect(running.has('/7')).toBe(false);
});

test('after the stop nothing runs, and no driver is started', async () => {
  const { drivers, running } = createScene();
  await drivers.use('/a');
  await drivers.stop();
  expect(running.size).toBe(0);
  expect(await failureOf(drivers.use('/a'))).toContain('HUB_SHUTTING_DOWN');
});
