import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { BuildOptions } from '../../../../hub/runtimes/docker/engine/images.ts';
import { scriptEngine } from '../scripted-engine.ts';

const { signal } = new AbortController();
const bare = {
  id: 'sha256:1',
  user: '',
  volumes: [],
  entrypoint: [],
  command: [],
  env: [],
  labels: {},
  digests: [],
  tags: [],
};

test.each<[string, object, object]>([
  [
    'all that it can have',
    {
      Id: 'sha256:1',
      Config: {
        User: 'node',
        Volumes: { '/data/': {}, '/cache': {} },
        Entrypoint: ['docker-entrypoint.sh'],
        Cmd: ['node'],
        Env: ['PATH=/bin'],
        Labels: { a: 'b' },
      },
      RepoDigests: ['node@sha256:2'],
      RepoTags: ['node:24'],
    },
    {
      id: 'sha256:1',
      user: 'node',
      volumes: ['/data/', '/cache'],
      entrypoint: ['docker-entrypoint.sh'],
      command: ['node'],
      env: ['PATH=/bin'],
      labels: { a: 'b' },
      digests: ['node@sha256:2'],
      tags: ['node:24'],
    },
  ],
  ['nothing but an id, as newer engines omit what is empty', { Id: 'sha256:1', Config: {} }, bare],
  [
    'nulls, as older engines write',
    {
      Id: 'sha256:1',
      Config: { User: '', Volumes: null, Entrypoint: null, Cmd: null, Env: null, Labels: null },
      RepoDigests: null,
      RepoTags: null,
    },
    bare,
  ],
])('an image with %s is read', async (_, body, image) => {
  await using scene = await scriptEngine({ 'GET /images/org/node:24/json': { body } });
  assert.deepEqual(await scene.engine.findImage('org/node:24'), image);
  assert.equal(await scene.engine.findImage('absent'), undefined);
});

test('an image is tagged, pulled and removed by name', async () => {
  await using scene = await scriptEngine({
    'POST /images/a:1/tag': { status: 201 },
    'POST /images/create': { body: '{}' },
    'DELETE /images/a:1': { body: [] },
  });
  await scene.engine.tagImage('a:1', 'a', '1.h-2');
  (await scene.engine.pullImage('b', '2', signal)).resume();
  await scene.engine.removeImage('a:1');
  assert.deepEqual(
    scene.calls.map(({ call, query }) => [call, query]),
    [
      ['POST /images/a:1/tag', { repo: 'a', tag: '1.h-2' }],
      ['POST /images/create', { fromImage: 'b', tag: '2' }],
      ['DELETE /images/a:1', {}],
    ],
  );
});

test('an image in use, and one that does not exist, cannot be removed without an error', async () => {
  const conflict = { status: 409, body: { message: 'in use' } };
  await using scene = await scriptEngine({ 'DELETE /images/a': conflict });
  await assert.rejects(scene.engine.removeImage('a'), { status: 409, words: 'in use' });
  await assert.rejects(scene.engine.removeImage('b'), { status: 404 });
});

const image: BuildOptions = { tag: 'a:1', package: 'x@1', labels: { c: 'd' } };

test.each<[string, BuildOptions, object]>([
  ['a package alone', image, { PACKAGE: 'x@1' }],
  [
    'more packages, on another base',
    { ...image, with: ['y', 'z==2'], base: 'python:3.12-slim' },
    { PACKAGE: 'x@1', EXTRAS: 'y z==2', BASE: 'python:3.12-slim' },
  ],
])('%s is built with limits, by the classic builder', async (_, options, args) => {
  await using scene = await scriptEngine({ 'POST /build': { body: '{}' } });
  const bounds = { memoryBytes: 1000, cpus: 0.335, network: 'net' };
  const output = await scene.engine.buildImage(Buffer.from('tar'), options, bounds, signal);
  output.resume();
  const [call] = scene.calls;
  const { buildargs = '', labels = '', ...rest } = call?.query ?? {};
  assert.equal(call?.body, 'tar');
  assert.deepEqual(JSON.parse(buildargs), args);
  assert.deepEqual(JSON.parse(labels), { c: 'd' });
  assert.deepEqual(rest, {
    t: 'a:1',
    forcerm: '1',
    version: '1',
    networkmode: 'net',
    memory: '1000',
    memswap: '1000',
    cpuperiod: '100000',
    cpuquota: '33500',
  });
});

test('the results of earlier steps are not used by a build that asks for it', async () => {
  await using scene = await scriptEngine({ 'POST /build': { body: '{}' } });
  const bounds = { memoryBytes: 1000, cpus: 1, network: 'net' };
  const options = { ...image, isUncached: true };
  (await scene.engine.buildImage(Buffer.from('tar'), options, bounds, signal)).resume();
  assert.equal(scene.calls[0]?.query['nocache'], '1');
});
