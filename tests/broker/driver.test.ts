import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import { rebuildContainer } from '../../hub/broker/container.ts';
import { createOptions } from '../../hub/runtimes/docker/container/options.ts';
import { throughShim } from '../../hub/runtimes/docker/secrets/shim.ts';
import { owner } from './bodies.ts';

const target: DockerTarget = {
  kind: 'docker',
  image: { reference: 'node:24-bookworm-slim' },
  command: 'node',
  args: ['server.js'],
  workingDirectory: '/srv',
  network: 'bridge',
  mounts: [{ source: '/srv/data', target: '/data', readOnly: false }],
  volumes: [{ name: 'notes', target: '/notes' }],
  limits: {
    memoryBytes: 512 * 1024 * 1024,
    cpus: 0.5,
    pids: 256,
    scratchBytes: 64 * 2 ** 20,
    volumeBytes: 10 * 2 ** 30,
  },
  logs: 'bounded',
};

const spec = (of: DockerTarget, instance?: string): LaunchSpec => ({
  server: 'memory',
  ...(instance !== undefined && { instance }),
  target: of,
  env: { TOKEN: 'secret' },
  maxLineBytes: 1,
  maxWaitingBytes: 1,
});

test.each<[string, Partial<DockerTarget>, string]>([
  ['all that an entry can say', {}, 'node'],
  ['an image that runs as root', { network: 'none', mounts: [], volumes: [] }, ''],
  ['no logs', { logs: 'none' }, '1000:1000'],
  ['a user of its own', { user: '1001:1002' }, ''],
  ['a user without a group', { user: '1001' }, ''],
  ['an image whose user is in the group root', {}, '1001:0'],
])('what the driver writes for a container passes the broker unchanged: %s', (_, change, user) => {
  const changed = { ...target, ...change };
  const body: unknown = JSON.parse(
    JSON.stringify(
      createOptions(owner, spec(changed), changed, {
        reference: 'node:24-bookworm-slim',
        id: 'sha256:1',
        user,
        volumes: [],
        entrypoint: [],
        command: [],
        env: [],
      }),
    ),
  );
  const rebuilt: unknown = rebuildContainer(JSON.stringify(body), owner);
  assert.deepEqual(rebuilt, body);
});

test('what the driver writes for a server with a network list passes the broker unchanged', () => {
  const way = { env: { HTTP_PROXY: 'x' }, extraHosts: ['db.internal:10.213.0.1'] };
  const image = {
    reference: 'node:24',
    id: 'sha256:1',
    user: '1000',
    volumes: [],
    entrypoint: [],
    command: [],
    env: [],
  };
  const options = createOptions(owner, spec(target), target, image, [], way);
  const body: unknown = JSON.parse(JSON.stringify(options));
  assert.deepEqual(rebuildContainer(JSON.stringify(body), owner), body);
});

test('what the driver writes for an instance of a session passes the broker unchanged', () => {
  const image = {
    reference: 'node:24-bookworm-slim',
    id: 'sha256:1',
    user: '1000',
    volumes: [],
    entrypoint: [],
    command: [],
    env: [],
  };
  for (const instance of ['1', '9999', 'probe']) {
    const body: unknown = JSON.parse(
      JSON.stringify(createOptions(owner, spec(target, instance), target, image)),
    );
    assert.deepEqual(rebuildContainer(JSON.stringify(body), owner), body);
  }
});

test('a server that receives its secrets by stdin passes the broker unchanged, without them', () => {
  const image = {
    reference: 'node:24-bookworm-slim',
    id: 'sha256:1',
    user: '1000',
    volumes: [],
    entrypoint: ['docker-entrypoint.sh'],
    command: ['node'],
    env: ['a.b=c'],
  };
  const wrapped = throughShim({ ...spec(target), secretEnv: ['TOKEN'] }, target, image);
  assert.ok(wrapped);
  const body = createOptions(owner, wrapped.spec, wrapped.target, image);
  const text = JSON.stringify(body);
  assert.deepEqual(rebuildContainer(text, owner), JSON.parse(text));
  assert.ok(!text.includes('"TOKEN'));
});
