import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'vitest';
import { silent, systemClock } from '#core';
import { createAttachment } from '../../../../hub/runtimes/docker/container/attach.ts';
import { createInstance } from '../../../../hub/runtimes/docker/container/instance.ts';
import { specOf } from '../hub.ts';

/** A container on an engine that stops it when `ended` is called, however long it is waited for. */
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
    state: { isRunning, startedAt: '2026-01-01T00:00:00Z', exitCode: 0, oomKilled: false },
  });
  const attachment = createAttachment(
    socket,
    { server: 'tested', maxLineBytes: 1000, maxWaitingBytes: 1000 },
    () => {},
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

test('a container that is being stopped has its grace, also where its connection is lost meanwhile', async () => {
  const { instance, socket, isRemoved, ended } = scene();
  const stopped = instance.stop({ graceMs: 5000 });
  socket.destroy(new Error('cut'));
  for (let turns = 0; turns < 100; turns++) await turn();
  assert.equal(isRemoved(), false, 'it was removed before it has ended');
  ended();
  assert.deepEqual(await stopped, { code: 0, detail: 'exited with code 0' });
  assert.equal(isRemoved(), true);
});

test('a container whose connection is lost while nobody stops it may still run', async () => {
  const { instance, socket, isRemoved } = scene();
  socket.destroy(new Error('cut'));
  const { detail, lost } = await instance.exited;
  assert.match(detail, /^the connection to it ended \(cut\) while it was running/);
  assert.equal(lost, true);
  assert.equal(isRemoved(), false);
});

test('the connection is kept while the container is stopped', async () => {
  const { instance, socket, ended } = scene();
  const stopped = instance.stop({ graceMs: 5000 });
  await turn();
  assert.equal(socket.writableEnded, false);
  ended();
  await stopped;
  assert.equal(socket.destroyed, true);
});
