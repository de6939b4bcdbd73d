import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createDockerRuntime } from '#runtimes/docker';
import { imagesDir, specOf } from './hub.ts';
import { type Scripted, scriptEngine } from './scripted-engine.ts';

const { signal } = new AbortController();
const managed = { 'io.agenthub.managed': 'true' };
const ours = { ...managed, 'io.agenthub.hub': 'id' };
const refuse = (status: number, message: string): Scripted => ({ status, body: { message } });

async function open(script: Parameters<typeof scriptEngine>[0], isExpected = true) {
  const scene = await scriptEngine(script);
  const forgotten: string[] = [];
  const runtime = createDockerRuntime(
    { hubId: 'id', hubName: 'hub', dockerHost: scene.host, imagesDir },
    {
      clock: createManualClock(),
      log: silent,
      isAwaited: () => false,
      isExpected: () => isExpected,
      platform: 'linux',
      locks: {
        read: async () => undefined,
        write: async () => {},
        remove: async name => void forgotten.push(name),
      },
    },
  );
  return {
    ...scene,
    runtime,
    forgotten,
    removals: () => scene.lines().filter(line => line.startsWith('DELETE')),
    async [Symbol.asyncDispose]() {
      await runtime.stop();
      await scene[Symbol.asyncDispose]();
    },
  };
}

describe('a probe', () => {
  test.each([
    ['linux', true, /^Docker Engine 28 at unix:/],
    ['windows', false, /^the engine at unix:.* runs windows containers$/],
  ])('of an engine for %s is healthy: %s', async (Os, healthy, detail) => {
    await using scene = await open({ 'GET /version': { body: { Version: '28', Os } } });
    const found = await scene.runtime.probe(signal);
    assert.equal(found.healthy, healthy);
    assert.match(found.detail, detail);
  });

  test('says why the engine does not answer, and reads from its answer what containers can reach', async () => {
    let answer = refuse(500, 'starting');
    await using scene = await open({ 'GET /version': () => answer });
    assert.deepEqual(await scene.runtime.probe(signal), {
      healthy: false,
      detail: 'the Docker engine refused to tell its version: starting',
    });
    assert.equal(scene.runtime.exposure.forwarder, undefined);
    answer = { body: { Version: '28', Os: 'linux', Platform: { Name: 'Docker Desktop 4' } } };
    await scene.runtime.probe(signal);
    assert.equal(scene.runtime.exposure.forwarder, 'Docker Desktop');
  });
});

test('a hub without servers in containers does not call the engine', async () => {
  await using scene = await open({}, false);
  await scene.runtime.start(signal);
  assert.deepEqual(scene.lines(), []);
});

test('a cancelled launch sends no request to the engine', async () => {
  await using scene = await open({});
  const events = { stderr() {}, progress() {} };
  await assert.rejects(scene.runtime.launch(specOf('x', {}), events, AbortSignal.abort()), {
    code: 'HUB_CALL_CANCELLED',
  });
  assert.deepEqual(scene.lines(), []);
});

test('the identity of a server is that of its image, if the image exists', async () => {
  await using scene = await open({
    'GET /images/here/json': { body: { Id: 'sha256:1', Config: {} } },
  });
  const identify = (reference: string) =>
    scene.runtime.identify?.(specOf('x', { image: { reference } }));
  assert.equal(await identify('here'), 'sha256:1');
  assert.equal(await identify('absent'), undefined);
});

describe('upkeep', () => {
  const spec = specOf('memory', {
    image: { package: { ecosystem: 'npm', spec: 'x@1' } },
    volumes: [
      { name: 'notes', target: '/notes' },
      { name: 'theirs', target: '/theirs' },
    ],
  });

  test('names the image and volumes that a launch creates, and finds those that this hub made', async () => {
    await using scene = await open({
      'GET /volumes/hub-notes': { body: { Name: 'hub-notes', Labels: ours } },
      'GET /volumes/hub-theirs': {
        body: { Name: 'hub-theirs', Labels: { ...managed, 'io.agenthub.hub': 'other' } },
      },
    });
    const { upkeep } = scene.runtime;
    const [image, ...volumes] = await upkeep.candidates(spec);
    assert.match(image?.name ?? '', /^agenthub\/npm-x:1-[0-9a-f]+/);
    assert.deepEqual(volumes, [
      { kind: 'volume', name: 'hub-notes' },
      { kind: 'volume', name: 'hub-theirs' },
    ]);
    assert.deepEqual(await upkeep.belongings(spec), [{ kind: 'volume', name: 'hub-notes' }]);
  });

  test('does not list an image that was pulled, but the folders that it declares', async () => {
    const body = { Id: 'sha256:1', Config: { Volumes: { '/data': {} } } };
    await using scene = await open({ 'GET /images/here/json': { body } });
    const pulled = specOf('memory', { image: { reference: 'here' } });
    const [volume, ...rest] = await scene.runtime.upkeep.candidates(pulled);
    assert.match(volume?.name ?? '', /^hub-memory\.data-[0-9a-f]{6}$/);
    assert.deepEqual(rest, []);
  });

  test.each([
    [['node@sha256:2'], { digest: 'node@sha256:2' }],
    [[], {}],
  ])('prepares an image with the digests %j', async (RepoDigests, digest) => {
    const body = { Id: 'sha256:1', Config: {}, RepoDigests };
    await using scene = await open({ 'GET /images/here/json': { body } });
    const events = { stderr() {}, progress() {} };
    const pulled = specOf('memory', { image: { reference: 'here' } });
    assert.deepEqual(await scene.runtime.upkeep.prepare(pulled, events, signal), {
      image: 'here',
      image_id: 'sha256:1',
      ...digest,
    });
  });

  const image = { kind: 'image', name: 'agenthub/npm-x:1' } as const;
  const volume = { kind: 'volume', name: 'hub-notes' } as const;
  const imageInfo = (labels: object): Scripted => ({
    body: { Id: 'i', Config: { Labels: labels } },
  });
  const volumeInfo = (labels: object): Scripted => ({
    body: { Name: 'hub-notes', Labels: labels },
  });

  test('removes an image with its lock, and a volume', async () => {
    await using scene = await open({
      [`GET /images/${image.name}/json`]: imageInfo(managed),
      [`DELETE /images/${image.name}`]: { body: [] },
      'GET /volumes/hub-notes': volumeInfo(ours),
      'DELETE /volumes/hub-notes': { status: 204 },
    });
    await scene.runtime.upkeep.discard(image);
    await scene.runtime.upkeep.discard(volume);
    assert.deepEqual(scene.removals(), [
      `DELETE /images/${image.name}`,
      'DELETE /volumes/hub-notes',
    ]);
    assert.deepEqual(scene.forgotten, ['npm-x@1']);
  });

  test('removes the lock of an image that does not exist, and ignores a missing volume', async () => {
    await using scene = await open({});
    await scene.runtime.upkeep.discard(image);
    await scene.runtime.upkeep.discard(volume);
    assert.deepEqual(scene.removals(), []);
    assert.deepEqual(scene.forgotten, ['npm-x@1']);
  });

  test.each([
    [image, 'an image that no hub built'],
    [volume, 'a volume of another hub'],
  ])('does not remove %j: %s', async (one, _what) => {
    await using scene = await open({
      [`GET /images/${image.name}/json`]: imageInfo({}),
      'GET /volumes/hub-notes': volumeInfo({ ...managed, 'io.agenthub.hub': 'other' }),
    });
    await assert.rejects(scene.runtime.upkeep.discard(one), {
      code: 'HUB_ENGINE_REFUSED',
      message: `the ${one.kind} ${one.name} was not created by this hub, so it is not removed`,
    });
    assert.deepEqual([scene.removals(), scene.forgotten], [[], []]);
  });

  test('gives a remedy for a volume in use, and passes on other refusals', async () => {
    let answer = refuse(409, 'volume is in use - [c]');
    await using scene = await open({
      'GET /volumes/hub-notes': volumeInfo(ours),
      'DELETE /volumes/hub-notes': () => answer,
    });
    await assert.rejects(scene.runtime.upkeep.discard(volume), {
      code: 'HUB_ENGINE_REFUSED',
      message:
        'the volume hub-notes is in use: volume is in use - [c]. ' +
        'Remove its users first, then remove it (docker volume rm hub-notes)',
    });
    answer = refuse(500, 'broken');
    await assert.rejects(
      scene.runtime.upkeep.discard(volume),
      /remove the volume hub-notes: broken/,
    );
  });
});
