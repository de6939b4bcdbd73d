import assert from 'node:assert/strict';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createSurveyor } from '../../../../hub/runtimes/docker/leftovers/survey.ts';
import { type Scripted, scriptEngine } from '../scripted-engine.ts';

const labelsOf = (hub: string | undefined, server?: string) => ({
  'io.agenthub.managed': 'true',
  ...(hub !== undefined && { 'io.agenthub.hub': hub }),
  ...(server !== undefined && { 'io.agenthub.server': server }),
});
const container = (id: string, hub: string | undefined, server?: string) => ({
  Id: id,
  Names: [`/name-${id}`],
  Labels: labelsOf(hub, server),
  State: 'running',
});
const network = (id: string, hub: string) => ({
  Id: id,
  Name: `name-${id}`,
  Labels: labelsOf(hub),
});
const volume = (name: string, hub: string) => ({ Name: name, Labels: labelsOf(hub) });

const lists: Readonly<Record<string, Scripted>> = {
  'GET /containers/json': {
    body: [container('c1', 'a', 'memory'), container('c2', 'b'), container('c3', undefined)],
  },
  'GET /networks': { body: [network('n1', 'a'), network('n2', 'a')] },
  'GET /volumes': { body: { Volumes: [volume('v1', 'a'), volume('v2', 'a'), volume('v3', 'b')] } },
};

async function survey(script: Readonly<Record<string, Scripted>> = {}) {
  const scene = await scriptEngine({ ...lists, ...script });
  return {
    ...createSurveyor(scene.host, { clock: systemClock }),
    host: scene.host,
    removals: () => scene.lines().filter(line => line.startsWith('DELETE')),
    filters: () => scene.calls.map(({ query }) => query['filters']),
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

test('the objects of all hubs are listed by hub, those without one first', async () => {
  await using surveyor = await survey();
  const found = await surveyor.holdings();
  assert.deepEqual(
    found.map(({ hubId, containers, networks, volumes }) => [
      hubId,
      containers.map(({ id, server }) => [id, server]),
      networks.map(({ id }) => id),
      volumes.map(({ name }) => name),
    ]),
    [
      ['', [['c3', '']], [], []],
      ['a', [['c1', 'memory']], ['n1', 'n2'], ['v1', 'v2']],
      ['b', [['c2', '']], [], ['v3']],
    ],
  );
  assert.deepEqual(
    new Set(surveyor.filters()),
    new Set(['{"label":["io.agenthub.managed=true"]}']),
  );
});

test('volumes are omitted if the broker does not list them, and only then', async () => {
  const refused = (status: number) =>
    survey({ 'GET /volumes': { status, body: { message: 'no' } } });
  await using behind = await refused(403);
  assert.deepEqual(
    (await behind.holdings()).flatMap(({ volumes }) => volumes),
    [],
  );
  await using broken = await refused(500);
  await assert.rejects(broken.holdings(), { code: 'HUB_ENGINE_REFUSED' });
});

test('the containers of one hub are removed, then its networks, but no volumes', async () => {
  await using surveyor = await survey({
    'DELETE /containers/c1': { status: 204 },
    'DELETE /networks/n1': { status: 204 },
    'DELETE /networks/n2': { status: 204 },
  });
  assert.deepEqual(await surveyor.remove('a'), []);
  const [first, ...rest] = surveyor.removals();
  assert.equal(first, 'DELETE /containers/c1');
  assert.deepEqual(rest.toSorted(), ['DELETE /networks/n1', 'DELETE /networks/n2']);
});

test('an object that cannot be removed is reported, and the rest is removed', async () => {
  await using surveyor = await survey({
    'DELETE /containers/c1': { status: 204 },
    'DELETE /networks/n1': { status: 403, body: { message: 'has active endpoints' } },
    'DELETE /networks/n2': { status: 204 },
  });
  assert.deepEqual(await surveyor.remove('a'), [
    'name-n1: the Docker engine refused to remove the network n1: has active endpoints',
  ]);
  assert.equal(surveyor.removals().length, 3);
});

test('only named volumes of this hub are removed', async () => {
  await using surveyor = await survey({ 'DELETE /volumes/v2': { status: 204 } });
  assert.deepEqual(await surveyor.removeVolumes('a', ['v2', 'v3', 'other']), []);
  assert.deepEqual(surveyor.removals(), ['DELETE /volumes/v2']);
});

test('nothing is removed for a hub without objects', async () => {
  await using surveyor = await survey();
  assert.deepEqual(await surveyor.remove('unknown'), []);
  assert.deepEqual(await surveyor.removeVolumes('unknown', ['v1']), []);
  assert.deepEqual(surveyor.removals(), []);
});

test('the engine is shown with its version and address', async () => {
  await using surveyor = await survey({ 'GET /version': { body: { Version: '28', Os: 'linux' } } });
  assert.equal(await surveyor.engine(), `Docker Engine 28 at ${surveyor.host}`);
});
