import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { createBroker } from '#broker';
import { silent, systemClock } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import type { Belonging } from '#runtimes';
import { createDockerRuntime, readBuildContext, readLock } from '#runtimes/docker';
import { docker, imagesDir, nodeImage, script, specOf } from '../runtimes/docker/hub.ts';

/** Creates an upkeep through the engine's own socket, or through a broker of the same hub. */
async function upkeepBy(way: 'socket' | 'broker') {
  const hubId = randomUUID();
  const hubName = `test-${hubId.slice(0, 8)}`;
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-upkeep-'));
  const socketPath = join(folder, 'docker.sock');
  const enginePath = engineHost.replace('unix://', '');
  const broker = createBroker(
    { socketPath, enginePath, hubId, hubName, mountRoots: [], registries: [], imagesDir },
    { log: silent, clock: systemClock, readBuildContext, readLock },
  );
  if (way === 'broker') await broker.start(new AbortController().signal);
  const runtime = createDockerRuntime(
    {
      hubId,
      hubName,
      imagesDir,
      dockerHost: way === 'broker' ? `unix://${socketPath}` : engineHost,
    },
    { clock: systemClock, log: silent, isAwaited: () => false },
  );
  const { upkeep } = runtime;
  return {
    hubId,
    hubName,
    runtime,
    upkeep,
    async [Symbol.asyncDispose]() {
      await runtime.stop();
      if (way === 'broker') await broker.stop();
      rmSync(folder, { recursive: true, force: true });
      const filters = JSON.stringify({ label: [`test=${hubId}`] });
      for (const { Name } of (await docker.listVolumes({ filters })).Volumes)
        await docker.getVolume(Name).remove();
      for (const { Id } of await docker.listImages({ filters }))
        await docker.getImage(Id).remove({ force: true });
    },
  };
}

/** Builds an empty image. */
function makeImage(tag: string, labels: Readonly<Record<string, string>>): void {
  const lines = Object.entries(labels).map(([name, value]) => `LABEL ${name}=${value}`);
  execFileSync('docker', ['build', '-q', '-t', tag, '-'], {
    input: ['FROM scratch', ...lines].join('\n'),
  });
}

const exists = async (one: { inspect(): Promise<unknown> }) =>
  await one.inspect().then(
    () => true,
    () => false,
  );

describeWithEngine('what servers leave', () => {
  describe.each(['socket', 'broker'] as const)('by the %s', way => {
    test('a volume of the hub is found and removed, and is not while it is used', async () => {
      await using hub = await upkeepBy(way);
      const spec = specOf('keeper', {
        ...script('process.stdin.resume()'),
        volumes: [{ name: 'kept', target: '/data' }],
      });
      const name = `${hub.hubName}-kept`;
      assert.deepEqual(await hub.upkeep.belongings(spec), []);
      const events = { stderr() {}, progress() {} };
      const instance = await hub.runtime.launch(spec, events, new AbortController().signal);
      const volume: Belonging = { kind: 'volume', name };
      assert.deepEqual(await hub.upkeep.belongings(spec), [volume]);
      await assert.rejects(hub.upkeep.discard(volume), {
        code: 'HUB_ENGINE_REFUSED',
        message: /is in use.*docker volume rm/,
      });
      await instance.stop({ graceMs: 0 });
      await hub.upkeep.discard(volume);
      assert.equal(await exists(docker.getVolume(name)), false);
      await hub.upkeep.discard(volume);
    });

    test('a volume that another hub has made stays', async () => {
      await using hub = await upkeepBy(way);
      const name = `${hub.hubName}-foreign`;
      const Labels = {
        'io.agenthub.hub': 'another',
        'io.agenthub.managed': 'true',
        test: hub.hubId,
      };
      await docker.createVolume({ Name: name, Labels });
      const spec = specOf('keeper', { volumes: [{ name: 'foreign', target: '/data' }] });
      assert.deepEqual(await hub.upkeep.belongings(spec), []);
      // The broker does not show the foreign volume, and the hub itself refuses to remove it.
      const discarded = hub.upkeep.discard({ kind: 'volume', name });
      if (way === 'socket') await assert.rejects(discarded, { code: 'HUB_ENGINE_REFUSED' });
      else await discarded;
      assert.equal(await exists(docker.getVolume(name)), true);
    });

    test('an image goes where a hub has built it, and stays where not', async () => {
      await using hub = await upkeepBy(way);
      const tag = `agenthub/npm-${hub.hubName}`;
      makeImage(`${tag}:ours`, { test: hub.hubId, 'io.agenthub.managed': 'true' });
      makeImage(`${tag}:theirs`, { test: hub.hubId });
      await hub.upkeep.discard({ kind: 'image', name: `${tag}:ours` });
      assert.equal(await exists(docker.getImage(`${tag}:ours`)), false);
      await assert.rejects(hub.upkeep.discard({ kind: 'image', name: `${tag}:theirs` }), {
        code: 'HUB_ENGINE_REFUSED',
      });
      assert.equal(await exists(docker.getImage(`${tag}:theirs`)), true);
      const name = `${tag}:shared`;
      makeImage(name, { test: hub.hubId, 'io.agenthub.managed': 'true' });
      const other = `${name}.h-${'0'.repeat(12)}`;
      await docker.getImage(name).tag({ repo: tag, tag: other.slice(tag.length + 1) });
      await assert.rejects(hub.upkeep.discard({ kind: 'image', name }), {
        code: 'HUB_ENGINE_REFUSED',
        message: /is kept because another hub uses it\. To remove it anyway: docker image rm/,
      });
      assert.equal(await exists(docker.getImage(name)), true);
      await docker.getImage(other).remove();
      await hub.upkeep.discard({ kind: 'image', name });
      assert.equal(await exists(docker.getImage(name)), false);
      await assert.rejects(hub.upkeep.discard({ kind: 'image', name: nodeImage }));
      assert.equal(await exists(docker.getImage(nodeImage)), true);
    });
  });

  test('the broker itself lets no other be removed, whatever the hub asks for', async () => {
    await using hub = await upkeepBy('broker');
    const tag = `agenthub/npm-${hub.hubName}:theirs`;
    makeImage(tag, { test: hub.hubId });
    const name = `${hub.hubName}-foreign`;
    await docker.createVolume({ Name: name, Labels: { test: hub.hubId } });
    const { createEngine } = await import('../../hub/runtimes/docker/engine/engine.ts');
    const { parseAddress } = await import('../../hub/runtimes/docker/engine/address.ts');
    const address = /unix:\S+docker\.sock/.exec(
      (await hub.runtime.probe(AbortSignal.timeout(5_000))).detail,
    );
    assert.ok(address);
    const engine = createEngine(parseAddress(address[0]), systemClock);
    await assert.rejects(engine.removeImage(tag), { status: 404 });
    await assert.rejects(engine.removeImage(nodeImage), { status: 403 });
    await assert.rejects(engine.removeVolume(name), { status: 404 });
    assert.equal(await exists(docker.getImage(tag)), true);
    assert.equal(await exists(docker.getVolume(name)), true);
  });
});
