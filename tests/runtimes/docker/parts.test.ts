import assert from 'node:assert/strict';
import { test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { type DockerRuntimeOptions, createParts } from '../../../hub/runtimes/docker/parts.ts';
import { imagesDir } from './hub.ts';
import { scriptEngine } from './scripted-engine.ts';

const partsOf = (options: Partial<DockerRuntimeOptions>, platform?: string) =>
  createParts(
    { hubId: 'id', hubName: 'hub', dockerHost: undefined, imagesDir, ...options },
    {
      clock: createManualClock(),
      log: silent,
      isAwaited: () => false,
      ...(platform !== undefined && { platform }),
    },
  );

test.each<[string, Partial<DockerRuntimeOptions>, string, string]>([
  ['its default bounds', {}, String(2 * 2 ** 30), '200000'],
  ['given bounds', { buildLimits: { memoryBytes: 1000, cpus: 0.5 } }, '1000', '50000'],
])(
  'a build has %s, and a network of its own for as long as it lasts',
  async (_, options, memory, cpuquota) => {
    await using scene = await scriptEngine({
      'POST /networks/create': { status: 201, body: { Id: 'net' } },
      'POST /build': { body: `${JSON.stringify({ error: 'no' })}\n` },
    });
    const parts = partsOf({ ...options, dockerHost: scene.host });
    const wanted = { package: { ecosystem: 'npm', spec: 'x@1' } } as const;
    const { signal } = new AbortController();
    await assert.rejects(
      parts.images.provide(wanted, () => {}, signal),
      { code: 'HUB_IMAGE_BUILD_FAILED' },
    );
    const bodies = scene.calls.map(({ body }) => (body instanceof Object ? body : {}));
    const network = bodies.find(body => 'Driver' in body);
    const name = network && 'Name' in network ? String(network.Name) : '';
    assert.match(name, /^hub-\.build-[0-9a-f]{12}$/);
    assert.deepEqual(network, {
      Name: name,
      Driver: 'bridge',
      Labels: { 'io.agenthub.hub': 'id', 'io.agenthub.managed': 'true' },
    });
    const build = scene.calls.find(({ call }) => call === 'POST /build')?.query;
    assert.deepEqual(
      [build?.['networkmode'], build?.['memory'], build?.['cpuquota']],
      [name, memory, cpuquota],
    );
    assert.equal(scene.lines().at(-1), `DELETE /networks/${name}`);
    assert.equal(parts.names.has(name), false);
  },
);

test('an engine is shown with its address, and an invalid address is refused', () => {
  assert.equal(partsOf({ dockerHost: 'tcp://engine:2375' }).engine.address, 'tcp://engine:2375');
  assert.throws(() => partsOf({ dockerHost: 'ssh://engine' }), { code: 'HUB_LAUNCH_INVALID' });
});

test('what containers can reach depends on the platform of the hub', () => {
  const version = { product: '', kernel: '' };
  for (const [platform, forwarder] of [
    ['linux', undefined],
    ['darwin', 'the engine of this machine'],
  ] as const) {
    const { exposure } = partsOf({ dockerHost: 'unix:///engine.sock' }, platform);
    exposure.learn(version);
    assert.equal(exposure.forwarder, forwarder);
  }
});
