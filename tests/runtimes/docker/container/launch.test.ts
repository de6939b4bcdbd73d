import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import type { LaunchSpec } from '#runtimes';
import { adopt, launch, targetOf } from '../../../../hub/runtimes/docker/container/launch.ts';
import { subnetAt } from '../../../../hub/runtimes/docker/egress/subnets.ts';
import { createParts } from '../../../../hub/runtimes/docker/parts.ts';
import { imagesDir, specOf } from '../hub.ts';
import { containerInfo, scriptEngine } from '../scripted-engine.ts';

const events = { stderr() {}, progress() {} };
const image = {
  reference: 'node:24',
  id: 'sha256:1',
  user: '1000',
  volumes: [],
  entrypoint: [],
  command: [],
  env: [],
};
const spec: LaunchSpec = {
  ...specOf('memory', { network: 'bridge', image: { reference: 'node:24' } }),
  digest: 'digest',
};
const name = 'hub-memory';
const member = { server: 'memory', subnet: subnetAt(0), network: 'bridge' } as const;
const ours = { 'io.agenthub.hub': 'id', 'io.agenthub.digest': 'digest' };
const { signal } = new AbortController();

async function open(script: Parameters<typeof scriptEngine>[0]) {
  const scene = await scriptEngine({
    'GET /images/node:24/json': { body: { Id: 'sha256:1', Config: {} } },
    'POST /networks/create': { status: 201, body: { Id: 'net' } },
    'POST /containers/create': { status: 201, body: { Id: 'c' } },
    'DELETE /containers/c': { status: 204 },
    [`DELETE /networks/${name}`]: { status: 204 },
    ...script,
  });
  const parts = createParts(
    { hubId: 'id', hubName: 'hub', dockerHost: scene.host, imagesDir },
    { clock: createManualClock(), log: silent, isAwaited: () => false },
  );
  const { engine } = parts;
  /** Egress with networks that contain no forwarder. */
  const egress: typeof parts.egress = {
    ...parts.egress,
    async createNetwork() {
      await engine.createNetwork(name, {});
      return member;
    },
    findNetwork: async () => member,
    join: async () => ({ env: {}, extraHosts: [] }),
    leave: networkName => engine.removeNetwork(networkName),
  };
  return {
    ...scene,
    parts: { ...parts, egress },
    /** Parts whose networks contain the forwarder. */
    whole: parts,
    changes: () => scene.lines().filter(line => !line.startsWith('GET')),
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

test('only a spec for a container has a Docker target', () => {
  assert.equal(targetOf(spec), spec.target);
  const other = { ...spec, target: { kind: 'process', command: 'x', args: [] } } as const;
  assert.throws(() => targetOf(other), {
    code: 'HUB_INTERNAL',
    message: 'memory is not a server for the Docker runtime',
  });
});

test('an engine that cannot separate a network from its host starts no server with a network', async () => {
  await using scene = await open({
    'GET /version': { body: { Version: '27.5.1', Os: 'linux' } },
  });
  const given = specOf('fetcher', { network: { allow: ['api.com'] } });
  await assert.rejects(launch(given, image, events, signal, scene.whole), {
    code: 'HUB_LAUNCH_INVALID',
    message: /needs Docker Engine 28 or newer.* is 27\.5\.1\. Update it, or remove "network"/,
  });
  assert.deepEqual(scene.changes(), []);
});

test('an engine that would mount a whole volume is not asked to mount a folder of it', async () => {
  await using scene = await open({
    'GET /version': { body: { Version: '25.0.5', Os: 'linux' } },
  });
  const folder = { volume: 'hub_data', path: 'agents/ada/workspace', target: '/workspace' };
  const given = specOf('ada', { volumeFolders: [folder] });
  await assert.rejects(launch(given, image, events, signal, scene.whole), {
    code: 'HUB_LAUNCH_INVALID',
    message: /needs Docker Engine 26 or newer.* is 25\.0\.5\. Update it/,
  });
  assert.deepEqual(scene.changes(), []);
});

describe('a launch that fails removes what it created,', () => {
  const refusal = { status: 400, body: { message: 'bad mount' } };

  test('the network if no container was created', async () => {
    await using scene = await open({ 'POST /containers/create': refusal });
    await assert.rejects(launch(spec, image, events, signal, scene.parts), {
      code: 'HUB_LAUNCH_INVALID',
      message: 'memory cannot be started as it is configured: bad mount',
    });
    assert.deepEqual(scene.changes(), [
      'POST /networks/create',
      'POST /containers/create',
      `DELETE /networks/${name}`,
    ]);
    assert.equal(scene.parts.names.has(name), false);
  });

  test('the container, then its network, if it cannot be attached to', async () => {
    await using scene = await open({});
    await assert.rejects(launch(spec, image, events, signal, scene.parts), {
      code: 'HUB_ENGINE_REFUSED',
    });
    assert.deepEqual(scene.changes().slice(-2), [
      'DELETE /containers/c',
      `DELETE /networks/${name}`,
    ]);
    assert.equal(scene.parts.instances.size, 0);
  });

  test('and what was created while it was cancelled', async () => {
    const ending = new AbortController();
    await using scene = await open({
      'POST /networks/create': () => {
        ending.abort();
        return { status: 201, body: { Id: 'net' } };
      },
    });
    await assert.rejects(launch(spec, image, events, ending.signal, scene.parts), {
      code: 'HUB_CALL_CANCELLED',
    });
    assert.deepEqual(scene.changes(), ['POST /networks/create', `DELETE /networks/${name}`]);
  });
});

test('a server that already runs, or whose start is cancelled, is not launched', async () => {
  await using scene = await open({});
  await using _held = scene.parts.names.hold(name);
  await assert.rejects(launch(spec, image, events, signal, scene.parts), {
    code: 'HUB_CONTAINER_NAME_TAKEN',
    message: `${name} runs already. Stop it first`,
  });
  await assert.rejects(launch(spec, image, events, AbortSignal.abort(), scene.parts), {
    code: 'HUB_CALL_CANCELLED',
  });
  assert.deepEqual(scene.lines(), []);
});

describe('a container of an earlier run', () => {
  const adopted = (scene: Awaited<ReturnType<typeof open>>, given = spec, late = signal) =>
    adopt(given, 'c then', events, { signal, late }, scene.parts);
  const found = (labels: Readonly<Record<string, string>>, state = {}, called = name) => ({
    'GET /containers/c/json': { body: containerInfo('c', called, labels, state) },
  });

  test.each<[string, Parameters<typeof scriptEngine>[0], LaunchSpec]>([
    ['has another digest', found({ ...ours, 'io.agenthub.digest': 'old' }), spec],
    ['has ended', found(ours, { Running: false }), spec],
    ['was started again', found(ours, { StartedAt: 'later' }), spec],
    ['has another name', found(ours, {}, 'hub-other'), spec],
    [
      'is of another image',
      { ...found(ours), 'GET /images/node:24/json': { body: { Id: 'sha256:2', Config: {} } } },
      spec,
    ],
    [
      'is of an image that is gone',
      { ...found(ours), 'GET /images/node:24/json': { status: 404 } },
      spec,
    ],
    [
      'was not to be adopted',
      found({ 'io.agenthub.hub': 'id' }),
      specOf('memory', { network: 'bridge', image: { reference: 'node:24' } }),
    ],
  ])('that %s is removed with its network', async (_, script, given) => {
    await using scene = await open(script);
    assert.equal(await adopted(scene, given), undefined);
    assert.deepEqual(scene.changes(), ['DELETE /containers/c', `DELETE /networks/${name}`]);
    assert.equal(scene.parts.names.has(name), false);
  });

  test('that does not exist, belongs to another hub, or runs with this hub is left alone', async () => {
    for (const script of [{}, found({ 'io.agenthub.hub': 'other' })]) {
      await using scene = await open(script);
      assert.equal(await adopted(scene), undefined);
      assert.deepEqual(scene.changes(), []);
    }
    await using scene = await open(found(ours));
    await using _held = scene.parts.names.hold(name);
    assert.equal(await adopted(scene), undefined);
    assert.deepEqual(scene.changes(), []);
  });

  test('whose inspection timed out is left for a later start', async () => {
    const late = new AbortController();
    await using scene = await open({
      'GET /containers/c/json': () => {
        late.abort(new Error('late'));
        return { body: containerInfo('c', name, ours) };
      },
    });
    await assert.rejects(adopted(scene, spec, late.signal), /late/);
    assert.deepEqual(scene.changes(), []);
    assert.equal(scene.parts.names.has(name), false);
  });

  test('counts as being adopted while it may need the forwarder', async () => {
    const seen: boolean[] = [];
    await using scene = await open({
      ...found({ ...ours, 'io.agenthub.digest': 'old' }),
      'GET /images/node:24/json': () => {
        seen.push(scene.whole.egress.isAdopting());
        return { body: { Id: 'sha256:1', Config: {} } };
      },
    });
    await adopted(scene);
    const alone = { ...spec, target: { ...targetOf(spec), network: 'none' as const } };
    await adopted(scene, alone);
    assert.deepEqual(seen, [true, false]);
    assert.equal(scene.whole.egress.isAdopting(), false);
  });

  test('that cannot be attached to is left for a later start', async () => {
    await using scene = await open(found(ours));
    await assert.rejects(adopted(scene), { code: 'HUB_ENGINE_REFUSED' });
    assert.deepEqual(scene.changes(), ['POST /containers/c/attach']);
  });
});
