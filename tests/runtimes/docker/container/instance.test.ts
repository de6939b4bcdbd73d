import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'vitest';
import { silent, systemClock } from '#core';
import { createAttachment } from '../../../../hub/runtimes/docker/container/attach.ts';
import { createInstance, exitOf } from '../../../../hub/runtimes/docker/container/instance.ts';
import { specOf } from '../hub.ts';

/** Creates a container that never exits in time, and that the engine stops when `ended` is called. */
function scene() {
  const halted = Promise.withResolvers<void>();
  const socket = new PassThrough();
  let isRunning = true;
  let isRemoved = false;
  const found = async () => ({
    id: 'id',
    name: 'name',
    image: 'image',
    imageId: 'sha256:0',
    labels: {},
    command: [],
    state: { isRunning, startedAt: '2026-01-01T00:00:00Z', exitCode: 0, oomKilled: false },
  });
  const attachment = createAttachment(
    socket,
    { server: 'tested', maxLineBytes: 1000, maxWaitingBytes: 1000 },
    { stderr: () => {} },
  );
  const instance = createInstance(
    {
      id: 'id',
      image: { id: 'sha256:0', reference: 'image' },
      spec: { ...specOf('tested', {}), digest: 'digest' },
      target: {
        volumes: [],
        limits: { memoryBytes: 1, cpus: 1, pids: 1, scratchBytes: 1, volumeBytes: 1 },
      },
      attachment,
      created: Promise.resolve({ [Symbol.asyncDispose]: async () => void (isRemoved = true) }),
    },
    { stderr: () => {}, progress: () => {} },
    {
      engine: {
        findContainer: found,
        waitForContainer: () => Promise.reject(new Error('no end in time')),
        stopContainer: () => halted.promise,
        usage: () => Promise.reject(new Error('none')),
      },
      events: { watch: () => ({ [Symbol.dispose]: () => {} }) },
      clock: systemClock,
      log: silent,
      owner: { hubId: 'hub', hubName: 'hub' },
      instances: new Set(),
      names: { leave: () => {} },
      tidying: { owe: () => {} },
      volumeBound: { watch: () => assert.fail('it has no volumes') },
    },
  );
  return {
    instance,
    socket,
    isRemoved: () => isRemoved,
    ended: () => {
      isRunning = false;
      halted.resolve();
    },
  };
}

test('a container that is being stopped has its grace period, even if its connection is lost', async () => {
  const { instance, socket, isRemoved, ended } = scene();
  const stopped = instance.stop({ graceMs: 5000 });
  socket.destroy(new Error('cut'));
  for (let turns = 0; turns < 100; turns++) await turn();
  assert.equal(isRemoved(), false, 'it was removed before it has ended');
  ended();
  assert.deepEqual(await stopped, { code: 0, detail: 'exited with code 0' });
  assert.equal(isRemoved(), true);
});

test('a container whose connection is lost without a stop may still run', async () => {
  const { instance, socket, isRemoved } = scene();
  socket.destroy(new Error('cut'));
  const { detail, lost } = await instance.exited;
  assert.match(detail, /^the connection to it ended \(cut\) while it was running/);
  assert.equal(lost, true);
  assert.equal(isRemoved(), false);
});

test('the connection stays open while the container is being stopped', async () => {
  const { instance, socket, ended } = scene();
  const stopped = instance.stop({ graceMs: 5000 });
  await turn();
  assert.equal(socket.writableEnded, false);
  ended();
  await stopped;
  assert.equal(socket.destroyed, true);
});

const killed = { code: 137, signal: 'SIGKILL' };

for (const [exitCode, oomKilled, expected] of [
  [0, false, { code: 0, detail: 'exited with code 0' }],
  [3, false, { code: 3, detail: 'exited with code 3' }],
  [
    127,
    false,
    {
      code: 127,
      detail: 'exited with code 127: its command is not in the image, or cannot be run there',
    },
  ],
  [126, false, { code: 126, detail: 'exited with code 126: its command cannot be executed' }],
  [137, false, { ...killed, detail: 'ended by SIGKILL' }],
  [143, false, { code: 143, signal: 'SIGTERM', detail: 'ended by SIGTERM' }],
  [200, false, { code: 200, detail: 'exited with code 200' }],
  [137, true, { ...killed, outOfMemory: true, detail: 'killed: out of memory (limit 512 MiB)' }],
  [
    1,
    true,
    {
      code: 1,
      detail: 'exited with code 1, after a process of it was killed: out of memory (limit 512 MiB)',
    },
  ],
] as const)
  test(`${exitCode}${oomKilled ? ' after a shortage of memory' : ''} reads "${expected.detail}"`, () => {
    assert.deepEqual(exitOf(exitCode, { oomKilled, memoryBytes: 512 * 2 ** 20 }), expected);
  });
