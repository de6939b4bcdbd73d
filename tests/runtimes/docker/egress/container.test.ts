import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import {
  forwarderImage,
  provideForwarder,
} from '../../../../hub/runtimes/docker/egress/container.ts';
import { imagesDir } from '../hub.ts';
import { containerInfo, scriptEngine } from '../scripted-engine.ts';

const options = {
  owner: { hubId: 'id', hubName: 'hub' },
  imagesDir,
  buildLimits: { memoryBytes: 2 ** 30, cpus: 1 },
};
const name = 'hub-.egress';

/** Provides the forwarder when a container of `image` has its name, and the image of that tag was rebuilt since. */
async function provided(image: string, state: object = {}, hubId = 'id') {
  const info = containerInfo('old', name, { 'io.agenthub.hub': hubId }, state);
  const { tag } = await forwarderImage(imagesDir);
  await using scene = await scriptEngine({
    [`GET /containers/${name}/json`]: {
      body: { ...info, Config: { ...info.Config, Image: image } },
    },
    [`GET /images/${tag}/json`]: { body: { Id: 'sha256:2', Config: {} } },
    [`GET /networks/${name}`]: { body: { Id: 'net', Name: name } },
    'DELETE /containers/old': { status: 204 },
    'POST /containers/create': { status: 201, body: { Id: 'new' } },
  });
  const forwarder = await provideForwarder(
    options,
    { engine: scene.engine, clock: createManualClock() },
    new AbortController().signal,
  );
  return { forwarder, changes: scene.lines().filter(line => !line.startsWith('GET')) };
}

test('the forwarder of an earlier run is used again, even if its image was rebuilt', async () => {
  const { tag } = await forwarderImage(imagesDir);
  const { forwarder, changes } = await provided(tag);
  assert.deepEqual(forwarder, { id: 'old', isRunning: true });
  assert.deepEqual(changes, []);
});

test('a forwarder of other files, or one that has exited, is replaced', async () => {
  const { tag } = await forwarderImage(imagesDir);
  for (const found of [provided('agenthub/egress:older'), provided(tag, { Running: false })]) {
    const { forwarder, changes } = await found;
    assert.deepEqual(forwarder, { id: 'new', isRunning: false });
    assert.deepEqual(changes, ['DELETE /containers/old', 'POST /containers/create']);
  }
});

test("a container of another hub under the forwarder's name is left alone", async () => {
  const { tag } = await forwarderImage(imagesDir);
  await assert.rejects(provided(tag, {}, 'other'), { code: 'HUB_CONTAINER_NAME_TAKEN' });
});
