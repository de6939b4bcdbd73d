import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createRecordingLog } from '#helpers/hub';
import type { DockerTarget } from '#runtimes';
import { createDockerRuntime } from '#runtimes/docker';
import { parseAddress } from '../../../hub/runtimes/docker/engine/address.ts';
import { createExposure, forwarderOf } from '../../../hub/runtimes/docker/exposure.ts';
import { specOf } from './hub.ts';

const socket = 'unix:///var/run/docker.sock';
const rows: readonly (readonly [
  what: string,
  product: string,
  kernel: string,
  address: string,
  platform: string,
  forwarder: string | undefined,
])[] = [
  [
    'an engine on Linux',
    'Docker Engine - Community',
    '6.8.0-90-generic',
    socket,
    'linux',
    undefined,
  ],
  ['a rootless one', '', '6.8.0', 'unix:///run/user/1000/docker.sock', 'linux', undefined],
  ['an engine in WSL', '', '6.6.87.2-microsoft-standard-WSL2', socket, 'linux', undefined],
  [
    'Docker Desktop',
    'Docker Desktop 4.48.0 (207573)',
    '6.10.14-linuxkit',
    socket,
    'darwin',
    'Docker Desktop',
  ],
  [
    'Docker Desktop for Linux',
    'Docker Desktop 4.48.0 (1)',
    '6.10',
    socket,
    'linux',
    'Docker Desktop',
  ],
  [
    'Docker Desktop behind the broker',
    '',
    '6.10.14-linuxkit',
    'tcp://broker:2375',
    'linux',
    'Docker Desktop',
  ],
  ['OrbStack', '', '6.15.11-orbstack-00539', socket, 'darwin', 'OrbStack'],
  [
    'Colima',
    '',
    '6.8.0-64-generic',
    'unix:///home/ada/.colima/default/docker.sock',
    'linux',
    'Colima',
  ],
  ['another one on a Mac', '', '6.8.0', socket, 'darwin', 'the engine of this machine'],
  ['one elsewhere, from a Mac', '', '6.8.0', 'tcp://192.0.2.1:2376', 'darwin', undefined],
];
for (const [what, product, kernel, address, platform, forwarder] of rows)
  test(`${what} ${forwarder ? 'forwards' : 'does not forward'} to the loopback interface`, () => {
    assert.equal(forwarderOf({ product, kernel }, parseAddress(address), platform), forwarder);
  });

const folder = { kind: 'docker', folder: '/srv/a', digest: '0' } as const;
test.each<[what: string, target: Partial<DockerTarget>, expected: boolean]>([
  ['runs in an image that is there', {}, false],
  ['has a network', { network: 'bridge' }, true],
  ['has a list of targets', { network: { allow: ['a.example'] } }, false],
  ['is a package', { image: { package: { ecosystem: 'npm', spec: 'a' } } }, true],
  ['is built of a folder', { image: { build: folder } }, true],
  ['gets system packages', { image: { reference: 'a', systemPackages: ['git'] } }, true],
])('a server that %s counts as one that can connect: %#', (_what, target, expected) => {
  const exposure = createExposure(parseAddress(socket), 'linux');
  exposure.launching(specOf('a', target));
  assert.equal(exposure.networked, expected ? 'a' : undefined);
});

test('the engine is queried for its kind, and listeners are notified of a change', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'exposure-'));
  const path = join(folder, 'docker.sock');
  let product = 'Docker Engine - Community';
  const engine = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ Version: '28', Os: 'linux', Platform: { Name: product } }));
  }).listen(path);
  await once(engine, 'listening');
  try {
    const runtime = createDockerRuntime(
      { hubId: 'a', hubName: 'a', dockerHost: `unix://${path}`, imagesDir: folder },
      {
        clock: systemClock,
        log: createRecordingLog().log,
        isAwaited: () => false,
        platform: 'linux',
      },
    );
    const { exposure } = runtime;
    let changes = 0;
    exposure.changed(() => changes++);
    await runtime.probe(AbortSignal.timeout(5_000));
    assert.deepEqual([exposure.forwarder, changes], [undefined, 0]);
    product = 'Docker Desktop 4.48.0';
    await runtime.probe(AbortSignal.timeout(5_000));
    await runtime.probe(AbortSignal.timeout(5_000));
    assert.deepEqual([exposure.forwarder, changes], ['Docker Desktop', 1]);
    const build = specOf('scratch', { image: { package: { ecosystem: 'npm', spec: 'a' } } });
    // The build fails, because the folder of images contains no template.
    await assert.rejects(
      runtime.upkeep.prepare(build, { stderr() {}, progress() {} }, AbortSignal.timeout(5_000)),
    );
    assert.deepEqual([exposure.networked, changes], ['scratch', 2]);
  } finally {
    engine.close();
    await rm(folder, { recursive: true });
  }
});
