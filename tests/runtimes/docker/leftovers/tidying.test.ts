import assert from 'node:assert/strict';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { test } from 'vitest';
import {
  createTidying,
  removeBuildNetwork,
} from '../../../../hub/runtimes/docker/leftovers/tidying.ts';

/** Creates an engine that refuses to remove a network the first `times` times. */
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
/** Waits until the callbacks of resolved promises have run. */
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

test('a network that stays in use is refused with the message of the engine', async () => {
  const clock = createManualClock();
  const engine = engineThatRefuses(Infinity, inUse);
  const removed = assert.rejects(removeBuildNetwork('net', { engine, clock }), /active endpoints/);
  for (let look = 0; look <= 100; look++) {
    await turn();
    clock.advance(100);
  }
  await removed;
});

test('any other refusal is not retried', async () => {
  const engine = engineThatRefuses(1, 'permission denied');
  await assert.rejects(
    removeBuildNetwork('net', { engine, clock: createManualClock() }),
    /permission denied/,
  );
  assert.equal(engine.asked, 1);
});

/**
 * Creates two containers of an earlier run, a server that is adopted later and the forwarder, and what tidies them up.
 */
function leftovers(isAdopting = () => false) {
  const clock = createManualClock();
  const held = new Set<string>();
  const containers = [
    { id: 'id of hub-notes', name: 'hub-notes', labels: {}, imageId: 'i', isRunning: true },
    { id: 'id of hub-.egress', name: 'hub-.egress', labels: {}, imageId: 'i', isRunning: true },
  ];
  const tidying = createTidying('label', {
    engine: {
      listContainers: async () => [...containers],
      listNetworks: async () => [],
      async removeContainer(id: string) {
        containers.splice(
          containers.findIndex(one => one.id === id),
          1,
        );
      },
    },
    egress: {
      isForwarder: name => name === 'hub-.egress',
      isNeeded: () => false,
      isAdopting,
      discardNetwork: async () => {},
    },
    imageVolumes: { isLook: () => false, discardLook: async () => {} },
    clock,
    log: silent,
    isHeld: name => held.has(name),
    isAwaited: id => id === 'id of hub-notes',
  });
  return { tidying, clock, held, names: () => containers.map(({ name }) => name) };
}

test('the forwarder is kept until the server is adopted, and removed if the server does not need it', async () => {
  const { tidying, clock, held, names } = leftovers();
  assert.equal(await tidying.now(), 'left');
  assert.deepEqual(names(), ['hub-notes', 'hub-.egress']);
  tidying.owe();
  held.add('hub-notes');
  clock.advance(500);
  await turn();
  assert.deepEqual(names(), ['hub-notes']);
  await tidying.stop();
});

test('a hub that stops before the next check removes the forwarder that it kept', async () => {
  const { tidying, held, names } = leftovers();
  await tidying.now();
  held.add('hub-notes');
  await tidying.stop();
  assert.deepEqual(names(), ['hub-notes']);
});

test('the forwarder is kept while a server that may need it is being adopted', async () => {
  let isAdopting = true;
  const { tidying, clock, held, names } = leftovers(() => isAdopting);
  held.add('hub-notes');
  assert.equal(await tidying.now(), 'left');
  assert.deepEqual(names(), ['hub-notes', 'hub-.egress']);
  tidying.owe();
  isAdopting = false;
  clock.advance(500);
  await turn();
  assert.deepEqual(names(), ['hub-notes']);
  await tidying.stop();
});

test('the network of a forwarder that is created during the check is kept', async () => {
  let isNeeded = false;
  const removed: string[] = [];
  const tidying = createTidying('label', {
    engine: {
      listContainers: async () => [],
      async listNetworks() {
        isNeeded = true;
        return ['hub-.egress', 'hub-old'].map(name => ({ name, id: `id of ${name}`, labels: {} }));
      },
      removeContainer: async () => {},
    },
    egress: {
      isForwarder: name => name === 'hub-.egress',
      isNeeded: () => isNeeded,
      isAdopting: () => false,
      discardNetwork: async ({ id }) => void removed.push(id),
    },
    imageVolumes: { isLook: () => false, discardLook: async () => {} },
    clock: createManualClock(),
    log: silent,
    isHeld: () => false,
    isAwaited: () => false,
  });
  assert.equal(await tidying.now(), 'clear');
  assert.deepEqual(removed, ['id of hub-old']);
});
