import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createVolumeBound } from '../../../../hub/runtimes/docker/volumes/bound.ts';
import type { Watched } from '../../../../hub/runtimes/docker/volumes/bound.ts';

const MiB = 2 ** 20;
const target = {
  volumes: [
    { name: 'data', target: '/data' },
    { name: 'cache', target: '/cache' },
  ],
  limits: { memoryBytes: 1, cpus: 1, pids: 1, scratchBytes: 1, volumeBytes: 10 * MiB },
};
const spec = { server: 'memory' };

function open() {
  const watched: Watched[] = [];
  const measured: (readonly string[])[] = [];
  let bytes = 0;
  const bound = createVolumeBound(
    { hubName: 'agenthub' },
    {
      watch: one => {
        watched.push(one);
        return { [Symbol.dispose]() {} };
      },
      measure: async names => {
        measured.push(names);
        return bytes;
      },
    },
  );
  return { bound, watched, measured, hold: (held: number) => void (bytes = held) };
}

test('a server that was not stopped for its size starts without a measurement', async () => {
  const { bound, measured, hold } = open();
  hold(20 * MiB);
  await bound.check(spec, target);
  assert.deepEqual(measured, []);
});

test('a server whose volumes are too large is stopped, and starts once they are smaller', async () => {
  const { bound, watched, measured, hold } = open();
  let why = '';
  using _ = bound.watch(spec, target, error => (why = error.message));
  assert.deepEqual(watched[0]?.names, ['agenthub-data', 'agenthub-cache']);
  assert.equal(watched[0]?.maxBytes, 10 * MiB);
  watched[0]?.exceeded(10.5 * MiB);
  assert.match(why, /^memory: its volumes hold 11 MiB, more than the 10 MiB/);
  hold(11 * MiB);
  await assert.rejects(bound.check(spec, target), { code: 'HUB_VOLUMES_FULL' });
  await bound.check({ server: 'another' }, target);
  hold(10 * MiB);
  await bound.check(spec, target);
  await bound.check(spec, target);
  assert.equal(measured.length, 2, 'it is not measured again after it was small enough');
});
