import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createImageUsers } from '../../../../hub/runtimes/docker/image/users.ts';

const reference = 'agenthub/npm-memory:1';

/** Creates an engine with one image that several hubs share. */
function open() {
  const tags = new Set([reference]);
  const image = {
    id: 'sha256:1',
    user: '',
    volumes: [],
    entrypoint: [],
    command: [],
    env: [],
    labels: {},
    digests: [],
  };
  const engine = {
    findImage: async () => ({ ...image, tags: [...tags] }),
    tagImage: async (_: string, name: string, tag: string) => void tags.add(`${name}:${tag}`),
    removeImage: async (tag: string) => void tags.delete(tag),
  };
  return { tags, usersOf: (hubId: string) => createImageUsers({ engine, owner: { hubId } }) };
}

test('an image that one hub uses has a tag of that hub, and is removed with it', async () => {
  const { tags, usersOf } = open();
  const users = usersOf('one');
  await users.join(reference, [...tags]);
  await users.join(reference, [...tags]);
  assert.equal(tags.size, 2);
  assert.match([...tags].join(' '), /^\S+ agenthub\/npm-memory:1\.h-[0-9a-f]{12}$/);
  await users.remove(reference);
  assert.deepEqual([...tags], []);
});

test('an image that another hub uses as well is kept, without the tag of the first', async () => {
  const { tags, usersOf } = open();
  const [one, other] = [usersOf('one'), usersOf('other')];
  await one.join(reference, [...tags]);
  await other.join(reference, [...tags]);
  await assert.rejects(one.remove(reference), {
    code: 'HUB_ENGINE_REFUSED',
    message: /is kept because another hub uses it/,
  });
  assert.equal(tags.size, 2);
  await other.remove(reference);
  assert.deepEqual([...tags], []);
});
