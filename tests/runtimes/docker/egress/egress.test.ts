import assert from 'node:assert/strict';
import { Duplex, PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { forwarderImage } from '../../../../hub/runtimes/docker/egress/container.ts';
import { createEgress } from '../../../../hub/runtimes/docker/egress/egress.ts';
import { subnetAt } from '../../../../hub/runtimes/docker/egress/subnets.ts';
import { imagesDir } from '../hub.ts';
import { type Scripted, containerInfo, scriptEngine } from '../scripted-engine.ts';

const own = 'hub-.egress';
const removed: Scripted = { status: 404, body: { message: 'network not found' } };

/** Creates the connection to a forwarder that applies each state at once. */
function connection(): Duplex {
  return new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const [, number] = /"apply":(\d+)/.exec(chunk.toString()) ?? [];
      if (number !== undefined) {
        const text = Buffer.from(`{"applied":${number}}\n`);
        const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, text.length]);
        this.push(Buffer.concat([header, text]));
      }
      done();
    },
  });
}

/** Creates the egress of a hub whose forwarder is already running. */
async function open(script: Parameters<typeof scriptEngine>[0] = {}) {
  const { tag } = await forwarderImage(imagesDir);
  const info = containerInfo('forwarder', own, { 'io.agenthub.hub': 'id' });
  const scene = await scriptEngine({
    [`GET /containers/${own}/json`]: { body: { ...info, Config: { ...info.Config, Image: tag } } },
    ...script,
  });
  const connections: Duplex[] = [];
  let builds = 0;
  const building = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const clock = createManualClock();
  const egress = createEgress(
    {
      owner: { hubId: 'id', hubName: 'hub' },
      imagesDir,
      buildLimits: { memoryBytes: 2 ** 30, cpus: 1 },
    },
    {
      engine: {
        ...scene.engine,
        async attach() {
          const opened = connection();
          connections.push(opened);
          return opened;
        },
        /** Builds until aborted, like an engine that pulls the base image. */
        async buildImage(_context, _image, _limits, ending) {
          const output = new PassThrough();
          ending.addEventListener('abort', () => output.destroy(new Error('aborted')));
          building[builds++]?.resolve();
          return output;
        },
      },
      clock,
      log: silent,
      hubPlaces: async () => ({ addresses: [], ports: [], backends: [] }),
    },
  );
  return {
    egress,
    clock,
    connections,
    building: async (times: number) => await building[times - 1]?.promise,
    lines: scene.lines,
    join: (server: string, index: number) =>
      egress.join(`hub-${server}`, { server, subnet: subnetAt(index), network: 'bridge' }),
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

test('the forwarder is started again after the network of a crashed server was removed as a leftover', async () => {
  let isRemoved = false;
  await using scene = await open({
    'POST /networks/hub-lost/connect': () => (isRemoved ? removed : { body: {} }),
    'POST /networks/hub-other/connect': { body: {} },
    'DELETE /networks/net-lost'() {
      isRemoved = true;
      return { status: 204 };
    },
  });
  const { egress, connections } = scene;
  await scene.join('lost', 0);
  await egress.discardNetwork({ id: 'net-lost', name: 'hub-lost' });
  assert.equal(egress.isNeeded(), false);
  connections[0]?.destroy();
  await turn();
  await scene.join('other', 1);
  assert.equal(connections.length, 2);
});

test('a build of the forwarder is aborted with the hub', async () => {
  await using scene = await open({ [`GET /containers/${own}/json`]: removed });
  const refused = assert.rejects(scene.join('one', 0), /aborted/);
  await scene.building(1);
  await scene.egress.stop();
  await refused;
  assert.equal(scene.egress.isNeeded(), false);
});

test('a build of the forwarder that hangs fails, and the next start of a server begins another', async () => {
  await using scene = await open({ [`GET /containers/${own}/json`]: removed });
  for (const times of [1, 2]) {
    const late = assert.rejects(scene.join('one', 0), /within 900000 ms/);
    await scene.building(times);
    scene.clock.advance(15 * 60_000);
    await late;
  }
});
