import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import type { DockerTarget } from '#runtimes';
import {
  createImageVolumes,
  declaredVolumes,
} from '../../../../hub/runtimes/docker/volumes/declared.ts';
import { specOf } from '../hub.ts';
import { scriptEngine } from '../scripted-engine.ts';

const imageOf = (...volumes: readonly string[]) => ({
  reference: 'image',
  id: 'sha256:1',
  user: '1000',
  volumes,
  entrypoint: [],
  command: [],
  env: [],
});
const spec = specOf('memory', { network: 'bridge' });
assert.ok(spec.target.kind === 'docker');
const target: DockerTarget = spec.target;

describe('the folders that an image declares', () => {
  const declared = (volumes: readonly string[], change: Partial<DockerTarget> = {}) =>
    declaredVolumes(spec, { ...target, ...change }, { volumes });

  test('get volumes of a readable and unique name', () => {
    const [one, other, long] = declared(['/a/b c', '/a-b-c', `/${'x'.repeat(60)}`]);
    assert.match(one?.name ?? '', /^memory\.a-b-c-[0-9a-f]{6}$/);
    assert.match(other?.name ?? '', /^memory\.a-b-c-[0-9a-f]{6}$/);
    assert.notEqual(one?.name, other?.name);
    assert.match(long?.name ?? '', /^memory\.x{40}-[0-9a-f]{6}$/);
  });

  test('are normalized, and stay absolute', () => {
    const targets = declared(['/data/', '/data', 'data', '/x/../data', '/..']).map(
      ({ target: path }) => path,
    );
    assert.deepEqual(targets, ['/data', '/']);
  });

  test('are omitted if the entry mounts something there', () => {
    const found = declared(['/mounted', '/named', '/free/'], {
      mounts: [{ source: '/srv', target: '/mounted', readOnly: true }],
      volumes: [{ name: 'named', target: '/named' }],
    });
    assert.deepEqual(
      found.map(({ target: path }) => path),
      ['/free'],
    );
  });
});

/** Creates the volumes of these paths on an engine that reports their sizes in bytes; -1 if it cannot measure one. */
async function scene(sizes: Readonly<Record<string, number>>, existing: readonly string[] = []) {
  const volumes = declaredVolumes(spec, target, { volumes: Object.keys(sizes) });
  const nameAt = (path: string) => `hub-${volumes.find(one => one.target === path)?.name}`;
  const here = new Set(existing.map(nameAt));
  const Volumes = Object.entries(sizes).map(([path, Size]) => ({
    Name: nameAt(path),
    UsageData: { Size },
  }));
  const script: Parameters<typeof scriptEngine>[0] = {
    'POST /containers/create': { status: 201, body: { Id: 'look' } },
    'GET /system/df': { body: { Volumes } },
    'DELETE /containers/look': { status: 204 },
  };
  const perVolume = Object.keys(sizes).flatMap(path => {
    const name = nameAt(path);
    return [
      [
        `GET /volumes/${name}`,
        () => (here.has(name) ? { body: { Name: name, Labels: {} } } : { status: 404, body: {} }),
      ],
      [`DELETE /volumes/${name}`, () => ({ status: 204 })],
    ] as const;
  });
  const engine = await scriptEngine({ ...script, ...Object.fromEntries(perVolume) });
  const owner = { hubId: 'id', hubName: 'hub' };
  const volumesOf = createImageVolumes({ engine: engine.engine, log: silent, owner });
  return {
    ...engine,
    nameAt,
    places: (image = imageOf(...Object.keys(sizes))) => volumesOf.placesOf(spec, target, image),
    created: () => engine.calls.filter(({ call }) => call === 'POST /containers/create'),
    changes: () => engine.lines().filter(line => /^(POST|DELETE)/.test(line)),
  };
}

const bodyOf = (call: { readonly body: unknown } | undefined) =>
  JSON.parse(JSON.stringify(call?.body));

describe('the storage of declared folders', () => {
  test('is none if an image declares none, without a request to the engine', async () => {
    await using found = await scene({});
    assert.deepEqual(await found.places(), { scratch: [], volumes: [] });
    assert.deepEqual(found.lines(), []);
  });

  test('is a volume if the image has content, and memory if it has none', async () => {
    await using found = await scene({ '/empty': 0, '/seeded': 5, '/unmeasured': -1 });
    const { scratch, volumes } = await found.places();
    assert.deepEqual(scratch, ['/empty', '/unmeasured']);
    assert.deepEqual(
      volumes.map(({ target: path }) => path),
      ['/seeded'],
    );
    assert.deepEqual(found.changes(), [
      'POST /containers/create',
      'DELETE /containers/look',
      `DELETE /volumes/${found.nameAt('/empty')}`,
      `DELETE /volumes/${found.nameAt('/unmeasured')}`,
    ]);
  });

  test('is determined by a container that is never started, without settings of the entry', async () => {
    await using found = await scene({ '/seeded': 5 });
    await found.places();
    const [call] = found.created();
    assert.equal(call?.query['name'], 'hub-memory.volumes');
    const { Env, HostConfig } = bodyOf(call);
    assert.deepEqual(Env, ['HOME=/home/mcp']);
    assert.equal(HostConfig.NetworkMode, 'none');
    assert.deepEqual(
      HostConfig.Mounts.map((mount: { Source: string }) => mount.Source),
      [found.nameAt('/seeded')],
    );
    assert.ok(!found.lines().some(line => line.endsWith('/start')));
  });

  test('is known for existing volumes, which contain data of the server and are not measured', async () => {
    await using found = await scene({ '/seeded': 0 }, ['/seeded']);
    const { scratch, volumes } = await found.places();
    assert.deepEqual([scratch, volumes.length], [[], 1]);
    assert.deepEqual(found.changes(), []);
  });

  test('is determined once for an image, also for concurrent launches', async () => {
    await using found = await scene({ '/empty': 0, '/seeded': 5 });
    const [one, other] = await Promise.all([found.places(), found.places()]);
    assert.deepEqual(other, one);
    assert.deepEqual(await found.places(), one);
    assert.equal(found.created().length, 1);
    await found.places({ ...imageOf('/empty', '/seeded'), id: 'sha256:2' });
    assert.equal(found.created().length, 2);
  });

  test('is determined again after a failure of the engine, which leaves no objects', async () => {
    let answers = 0;
    const volumes = declaredVolumes(spec, target, { volumes: ['/seeded'] });
    const name = `hub-${volumes[0]?.name}`;
    await using engine = await scriptEngine({
      'POST /containers/create': { status: 201, body: { Id: 'look' } },
      'GET /system/df': () =>
        ++answers === 1
          ? { status: 500, body: { message: 'busy' } }
          : { body: { Volumes: [{ Name: name, UsageData: { Size: 5 } }] } },
      'DELETE /containers/look': { status: 204 },
      [`DELETE /volumes/${name}`]: { status: 204 },
    });
    const owner = { hubId: 'id', hubName: 'hub' };
    const volumesOf = createImageVolumes({ engine: engine.engine, log: silent, owner });
    const image = imageOf('/seeded');
    await assert.rejects(volumesOf.placesOf(spec, target, image), { code: 'HUB_ENGINE_REFUSED' });
    const removed = engine.lines().filter(line => line.startsWith('DELETE'));
    assert.deepEqual(removed, ['DELETE /containers/look', `DELETE /volumes/${name}`]);
    assert.equal((await volumesOf.placesOf(spec, target, image)).volumes.length, 1);
  });

  test('that a killed run left is removed with its container, except for volumes with content', async () => {
    await using scripted = await scriptEngine({
      'GET /system/df': {
        body: {
          Volumes: [
            { Name: 'empty', UsageData: { Size: 0 } },
            { Name: 'seeded', UsageData: { Size: 5 } },
          ],
        },
      },
      'DELETE /containers/look': { status: 204 },
      'DELETE /volumes/empty': { status: 204 },
    });
    const owner = { hubId: 'id', hubName: 'hub' };
    const volumesOf = createImageVolumes({ engine: scripted.engine, log: silent, owner });
    const labels = { 'io.agenthub.instance': 'volumes' };
    assert.ok(volumesOf.isLook({ labels }));
    await volumesOf.discardLook({ id: 'look', volumes: ['empty', 'seeded', 'gone'] });
    assert.deepEqual(scripted.lines(), [
      'DELETE /containers/look',
      'GET /system/df',
      'DELETE /volumes/empty',
    ]);
  });
});
