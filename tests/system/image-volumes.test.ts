import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, test } from 'vitest';
import { HubError } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { readBuildContext } from '../../hub/runtimes/docker/image/build-context.ts';
import { answering, askerOf, createHub, docker, factOf, specOf } from '../runtimes/docker/hub.ts';

/** Writes a file of this size in MiB, or a sparse one that has its size at once, or lists a folder. */
const writer = answering(`({ path, MiB, isSparse }) => {
  const fs = require('node:fs');
  if (MiB === undefined) return fs.readdirSync(path);
  const file = fs.openSync(path, 'w');
  if (isSparse) fs.ftruncateSync(file, MiB * 2 ** 20);
  else for (let written = 0; written < MiB; written++) fs.writeSync(file, Buffer.alloc(2 ** 20));
  return 'written';
}`);

/** An image with volumes: /seeded has content, /empty and /slash have none. */
const image = `agenthub-test-volumes:${randomUUID().slice(0, 8)}`;
const dockerfile = `FROM node:24-bookworm-slim
RUN mkdir -p /empty /seeded && echo text > /seeded/file && chmod -R a+rwX /seeded
VOLUME ["/empty", "/slash/", "/seeded"]
`;

const limits = {
  memoryBytes: 128 * 2 ** 20,
  cpus: 1,
  pids: 64,
  scratchBytes: 4 * 2 ** 20,
  volumeBytes: 8 * 2 ** 20,
};

describeWithEngine('the volumes of a container', () => {
  beforeAll(async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-test-'));
    await writeFile(join(folder.path, 'Dockerfile'), dockerfile);
    const context = await readBuildContext(folder.path);
    const output = await docker.buildImage(Readable.from(context), { t: image });
    output.resume();
    await once(output, 'end');
  });

  afterAll(async () => {
    await docker.getImage(image).remove({ force: true });
  });

  test('that its image declares are none without a bound, and keep what the image has in them', async () => {
    await using hub = createHub();
    const spec = specOf('declared', { ...writer, image: { reference: image }, limits });
    const instance = await hub.launch(spec);
    const { Mounts } = await docker.getContainer(factOf(instance, 'containerId')).inspect();
    const volumes = Mounts.filter(({ Type }) => Type === 'volume');
    assert.deepEqual(
      volumes.map(({ Destination }) => Destination),
      ['/seeded'],
    );
    assert.match(volumes[0]?.Name ?? '', new RegExp(`^${hub.hubName}-declared\\.seeded-`));
    const { ask } = askerOf(instance);
    assert.deepEqual(await ask('list', { path: '/seeded' }), ['file']);
    for (const folder of ['/empty', '/slash']) {
      assert.equal(await ask('write', { path: `${folder}/small`, MiB: 2 }), 'written');
      assert.equal(await ask('write', { path: `${folder}/large`, MiB: 8 }), 'failed: ENOSPC');
    }
    await instance.stop({ graceMs: 0 });
    assert.deepEqual(
      (await hub.runtime.upkeep.belongings(spec)).map(({ name }) => name),
      [volumes[0]?.Name],
    );
    const again = askerOf(await hub.launch(spec));
    assert.deepEqual(await again.ask('list', { path: '/seeded' }), ['file']);
    assert.deepEqual(await hub.leftovers(), [`/${hub.hubName}-declared`]);
  });

  test('are removed if a hub was killed while it looked for those that are empty', async () => {
    await using hub = createHub();
    const nameOf = (folder: string) => `${hub.hubName}-killed.${folder}-123456`;
    const Labels = { 'io.agenthub.hub': hub.id, 'io.agenthub.managed': 'true' };
    await docker.createContainer({
      name: `${hub.hubName}-killed.volumes`,
      Image: image,
      Labels: { ...Labels, 'io.agenthub.server': 'killed', 'io.agenthub.instance': 'volumes' },
      HostConfig: {
        Mounts: ['empty', 'seeded'].map(folder => ({
          Type: 'volume' as const,
          Source: nameOf(folder),
          Target: `/${folder}`,
          ReadOnly: false,
          VolumeOptions: { NoCopy: false, Labels, DriverConfig: { Name: '', Options: {} } },
        })),
      },
    });
    await using next = createHub({ hubId: hub.id });
    await next.runtime.start(new AbortController().signal);
    assert.deepEqual(await hub.leftovers(), []);
    const filters = JSON.stringify({ label: [`io.agenthub.hub=${hub.id}`] });
    const { Volumes } = await docker.listVolumes({ filters });
    assert.deepEqual(
      Volumes.map(({ Name }) => Name),
      [nameOf('seeded')],
    );
  });

  test('are watched: a server that fills them is stopped, and not started before they have room', async () => {
    await using hub = createHub({ volumeCheckMs: 100 });
    const spec = specOf('filler', {
      ...writer,
      image: { reference: image },
      user: '0:0',
      volumes: [{ name: 'filled', target: '/filled' }],
      limits,
    });
    const instance = await hub.launch(spec);
    const { ask } = askerOf(instance);
    assert.equal(await ask('write', { path: '/filled/half', MiB: 6 }), 'written');
    // A file that grows may be measured with a part of its size.
    await ask('write', { path: '/filled/rest', MiB: 6, isSparse: true }).catch(() => undefined);
    const { refusal } = await instance.exited;
    assert.equal(refusal?.code, 'HUB_VOLUMES_FULL');
    assert.match(
      refusal?.message ?? '',
      /hold 1\d MiB, more than the 8 MiB of "resources.volumes"/,
    );
    await assert.rejects(hub.launch(spec), (error: unknown) => {
      assert.ok(error instanceof HubError);
      assert.equal(error.code, 'HUB_VOLUMES_FULL');
      return true;
    });
    await docker.getVolume(`${hub.hubName}-filled`).remove();
    const again = askerOf(await hub.launch(spec));
    assert.deepEqual(await again.ask('list', { path: '/filled' }), []);
  });
});
