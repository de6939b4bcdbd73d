import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { createImagePruning } from '../../../../hub/runtimes/docker/image/pruning.ts';
import { createImageUsers } from '../../../../hub/runtimes/docker/image/users.ts';

type Image = {
  readonly reference: string;
  readonly hubs: readonly string[];
  readonly base?: string;
};

const labelsOf = (base: string) => ({ 'io.agenthub.managed': 'true', 'io.agenthub.base': base });
const labels = labelsOf('npm');
const forwarder = 'agenthub/egress:2';

/** Creates an engine with images that hubs use, and containers of this hub that run some of them. */
async function open(images: readonly Image[], running: readonly string[] = [], hub = 'one') {
  const tags = new Map(images.map(({ reference }) => [reference, new Set([reference])]));
  const own = (name: string) =>
    [...tags.values()].find(names => names.has(name)) ?? assert.fail(name);
  const engine = {
    findImage: async (name: string) => ({
      id: name,
      tags: [...own(name)],
      user: '',
      volumes: [],
      entrypoint: [],
      command: [],
      env: [],
      labels,
      digests: [],
    }),
    tagImage: async (name: string, repo: string, tag: string) =>
      void own(name).add(`${repo}:${tag}`),
    removeImage: async (name: string) => void own(name).delete(name),
    listImages: async (label: string) => {
      assert.equal(label, 'io.agenthub.managed=true');
      return [...tags].map(([id, names]) => {
        const { base = 'npm' } = images.find(({ reference }) => reference === id) ?? {};
        return { id, tags: [...names], labels: labelsOf(base), bytes: 5 };
      });
    },
    listContainers: async (label: string) => {
      assert.equal(label, 'io.agenthub.managed=true');
      return running.map(imageId => ({
        id: imageId,
        name: `c-${imageId}`,
        labels: { 'io.agenthub.hub': hub },
        imageId,
        isRunning: true,
      }));
    },
  };
  for (const { reference, hubs } of images)
    for (const hubId of hubs)
      await createImageUsers({ engine, owner: { hubId } }).join(reference, [...own(reference)]);
  const users = createImageUsers({ engine, owner: { hubId: 'one' } });
  const referenceOf = async (wanted: object) => String(Object.values(wanted)[0]);
  const forgotten: string[] = [];
  const pruning = createImagePruning({
    engine,
    users,
    images: { referenceOf, forget: async name => void forgotten.push(name) },
    forwarder: async () => forwarder,
    hubId: 'one',
  });
  return {
    pruning,
    forgotten,
    left: () => [...tags].filter(([, names]) => names.size > 0).map(([name]) => name),
  };
}

const images = ['a:1', 'b:1', 'c:1', 'd:1', 'e:1'];

test('removes what this hub used and nothing requires, and leaves the rest with a reason', async () => {
  const hub = await open(
    [
      { reference: 'a:1', hubs: ['one'] },
      { reference: 'b:1', hubs: ['one'] },
      { reference: 'c:1', hubs: ['other'] },
      { reference: 'd:1', hubs: ['one', 'other'] },
      { reference: 'e:1', hubs: ['one'] },
    ],
    ['e:1'],
  );
  const needed = [{ reference: 'b:1' }];
  const dry = await hub.pruning.prune(needed, { isDry: true });
  assert.deepEqual(
    dry.removed.map(({ reference }) => reference),
    ['a:1'],
  );
  assert.deepEqual(
    dry.left.map(({ reference, why }) => [reference, why]),
    [
      ['d:1', '1 other hub uses it'],
      ['e:1', 'the container c-e:1 uses it'],
    ],
  );
  assert.deepEqual(hub.left(), images);
  const done = await hub.pruning.prune(needed, { isDry: false });
  assert.deepEqual(
    done.removed.map(({ reference }) => reference),
    ['a:1'],
  );
  assert.deepEqual(
    done.left.map(({ reference }) => reference),
    ['d:1', 'e:1'],
  );
  assert.deepEqual(hub.left(), ['b:1', 'c:1', 'd:1', 'e:1']);
  assert.deepEqual(hub.forgotten, ['a:1'], 'the next build installs the newest dependencies');
});

test('removes forwarders of earlier versions, except those that a container uses', async () => {
  const base = 'egress';
  const hub = await open(
    [
      { reference: 'agenthub/egress:0', hubs: [], base },
      { reference: 'agenthub/egress:1', hubs: [], base },
      { reference: forwarder, hubs: [], base },
      { reference: 'agenthub/egress:4', hubs: [], base },
      { reference: 'agenthub/egress:5', hubs: [], base: 'npm' },
      { reference: 'example/egress:6', hubs: [], base },
    ],
    ['agenthub/egress:4'],
  );
  for (const isDry of [true, false]) {
    const { removed, left } = await hub.pruning.prune([], { isDry });
    assert.deepEqual(
      removed.map(({ reference }) => reference),
      ['agenthub/egress:0', 'agenthub/egress:1'],
    );
    assert.deepEqual(
      left.map(({ reference, why }) => [reference, why]),
      [['agenthub/egress:4', 'the container c-agenthub/egress:4 uses it']],
    );
  }
  assert.deepEqual(hub.left(), [
    forwarder,
    'agenthub/egress:4',
    'agenthub/egress:5',
    'example/egress:6',
  ]);
});

test('a forwarder stays that a container of another hub uses, and is not listed before', async () => {
  const used = { reference: 'agenthub/egress:1', hubs: [], base: 'egress' };
  const shared = { reference: 'a:1', hubs: ['one'] };
  const hub = await open([used, shared], ['agenthub/egress:1', 'a:1'], 'other');
  for (const isDry of [true, false]) {
    const { removed, left } = await hub.pruning.prune([], { isDry });
    assert.deepEqual(
      removed.map(({ reference }) => reference),
      ['a:1'],
      'an image of servers is marked by each hub that uses it',
    );
    assert.deepEqual(
      left.map(({ reference, why }) => [reference, why]),
      [['agenthub/egress:1', 'the container c-agenthub/egress:1 uses it']],
    );
  }
  assert.deepEqual(hub.left(), ['agenthub/egress:1']);
});

test('a bug is thrown, not reported as a refusal', async () => {
  const hub = await open([{ reference: 'a:1', hubs: ['one'] }]);
  const broken = createImagePruning({
    engine: {
      listImages: async () => [{ id: 'a', tags: ['a:1', 'a:1.h-000000000000'], labels, bytes: 5 }],
      listContainers: async () => [],
    },
    users: {
      ofThisHub: () => ['a:1'],
      othersOf: () => 0,
      remove: async name => {
        throw name === 'a:1' ? new TypeError('a bug') : new HubError('HUB_ENGINE_REFUSED', 'no');
      },
    },
    images: { referenceOf: async () => '', forget: async () => {} },
    forwarder: async () => forwarder,
    hubId: 'one',
  });
  await assert.rejects(broken.prune([], { isDry: false }), TypeError);
  assert.deepEqual(hub.left(), ['a:1']);
});
