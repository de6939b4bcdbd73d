import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import { type HubProcess, startHub, until } from '#helpers/hub-process';
import { docker, nodeImage } from '../runtimes/docker/hub.ts';

const bin = join(import.meta.dirname, '../../bin/agenthub.mjs');
/** A server that runs and never answers. */
const slow = { command: 'node', args: ['-e', 'setInterval(() => {}, 1000)'] };

describeWithEngine('a hub that is killed while it tries a server out', () => {
  test('has the next hub remove the volume that was created for it, and no other', async () => {
    await using data = await mkdtempDisposable(join(tmpdir(), 'agenthub-cut-off-'));
    const hubName = `cut-off-${randomUUID().slice(0, 8)}`;
    const env = { HUB_NAME: hubName, DOCKER_HOST: engineHost };
    const start = (servers: object) => startHub({ config: { servers }, env, dataDir: data.path });
    const volumes = async () => {
      const { Volumes } = await docker.listVolumes({
        filters: JSON.stringify({ name: [`${hubName}-`] }),
      });
      return Volumes.map(({ Name }) => Name.slice(hubName.length + 1)).toSorted();
    };
    await using _ = {
      async [Symbol.asyncDispose]() {
        for (const name of await volumes()) await docker.getVolume(`${hubName}-${name}`).remove();
      },
    };
    const install = (hub: HubProcess, name: string, volume: string) =>
      fetch(`${hub.url}/servers/install`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...hub.ownerHeaders },
        body: JSON.stringify({
          name,
          package: `docker:${nodeImage}`,
          volumes: [{ name: volume, target: '/data' }],
          ...(volume === 'kept' && { confirm: ['volume:kept'] }),
          ...slow,
        }),
      });
    const kept = { image: nodeImage, ...slow, volumes: { kept: '/data' } };
    {
      await using hub = await start({ kept: { ...kept, auto_start: true } });
      await until(volumes, found => found.includes('kept'), 30_000);
      const cutOff = ['one', 'two'].map(name =>
        install(hub, name, name === 'one' ? 'midvol' : 'kept').catch(() => undefined),
      );
      await until(volumes, found => found.includes('midvol'), 30_000);
      await hub.kill();
      await Promise.all(cutOff);
      assert.deepEqual(await volumes(), ['kept', 'midvol']);
    }
    {
      await using hub = await start({ kept: { ...kept, auto_start: false } });
      await until(volumes, found => !found.includes('midvol'), 30_000);
      await until(
        async () => hub.log(),
        text => text.includes('removed the remains of an interrupted install'),
        10_000,
      );
      assert.deepEqual(await volumes(), ['kept']);
      await until(
        () => readFile(join(data.path, 'installs.json'), 'utf8'),
        text => text.trim() === '{}',
        10_000,
      );
      // Removing a server without "purge" leaves its volume, which only the owner may delete.
      const removed = await fetch(`${hub.url}/servers/kept`, {
        method: 'DELETE',
        headers: hub.ownerHeaders,
      });
      assert.equal(removed.status, 200);
      let { configFile } = hub;
      const doctor = async (...args: readonly string[]) => {
        const { stdout } = await promisify(execFile)(process.execPath, [bin, 'doctor', ...args], {
          cwd: data.path,
          env: {
            ...process.env,
            ...env,
            DATA_DIR: data.path,
            MCP_SERVERS_CONFIG: configFile,
            ROUTER_PORT: new URL(hub.url).port,
          },
        });
        return stdout;
      };
      const seen = await doctor();
      assert.match(seen, new RegExp(`${hubName}-kept +volume that no server in the config uses`));
      const id = (await readFile(join(data.path, 'hub-id'), 'utf8')).trim();
      assert.ok(seen.includes(`agenthub doctor --remove ${id} --volumes --dry-run`), seen);
      assert.equal(
        (await doctor('--remove', id, '--volumes', '--dry-run')).trim(),
        `would remove volume ${hubName}-kept`,
      );
      configFile = '';
      await assert.rejects(doctor('--remove', id, '--volumes'), /there is no \S+ to show/);
      ({ configFile } = hub);
      assert.deepEqual(await volumes(), ['kept']);
      assert.equal(
        (await doctor('--remove', id, '--volumes')).trim(),
        `removed volume ${hubName}-kept`,
      );
      assert.deepEqual(await volumes(), []);
    }
  });
});
