import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, settled, startHub, until } from '#helpers/hub-process';
import { isLong } from '#helpers/length';
import { removeVolumes } from '#helpers/volumes';
import { docker } from '../runtimes/docker/hub.ts';

const hubName = `builds-${process.pid}`;
const stdio = join(import.meta.dirname, '..', 'fixtures', 'servers', 'stdio.mjs');

/** Source of a server that answers with `word`, and with the files in its image. */
const program = (word: string) => `import { readdirSync } from 'node:fs';
import { serveTools, answer, text, tool } from './stdio.mjs';
serveTools('built', [tool('word'), tool('files')], (id, name) =>
  answer(id, text(name === 'word' ? '${word}' : readdirSync('.').sort().join(' '))));
`;
const dockerfile =
  'FROM node:24-bookworm-slim\nWORKDIR /srv\nCOPY . .\nCMD ["node", "server.mjs"]\n';

describeWithEngine('servers of folders', () => {
  let folder = '';
  let hub: HubProcess;
  const write = (path: string, text: string) => writeFile(join(folder, path), text);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'builds-'));
    for (const name of ['own', 'kept', 'project']) {
      await mkdir(join(folder, name));
      await cp(stdio, join(folder, name, 'stdio.mjs'));
      await write(`${name}/server.mjs`, program('one'));
      await write(`${name}/.env`, 'KEY=secret');
    }
    await write('own/Dockerfile', dockerfile);
    await write('kept/Dockerfile', dockerfile);
    await write(
      'project/package.json',
      JSON.stringify({
        name: 'project',
        version: '1.0.0',
        type: 'module',
        main: 'dist/server.mjs',
        scripts: {
          // The only script of the project that is run.
          build: 'mkdir dist && cp *.mjs dist && id -u > dist/user',
          postinstall: 'exit 1',
        },
      }),
    );
    const config = {
      servers: {
        own: { build: './own', auto_start: true },
        // Two instances must not write to one volume, so this server is stopped before its successor starts.
        kept: { build: './kept', auto_start: true, volumes: { kept: '/data' } },
        ...(isLong && { project: { build: './project', auto_start: true, args: ['x'] } }),
      },
    };
    const configFile = join(folder, 'mcp-servers.json');
    await writeFile(configFile, JSON.stringify(config));
    hub = await startHub({ config, configFile, env: { HUB_NAME: hubName } });
    await settled(hub, 120_000);
  }, 180_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
    await removeVolumes(hubName);
    const images = await docker.listImages({
      filters: JSON.stringify({
        reference: ['agenthub/build-own', 'agenthub/build-kept', 'agenthub/build-project'],
      }),
    });
    for (const { Id } of images) await docker.getImage(Id).remove({ force: true });
  });

  async function word(server: string, tool = 'word'): Promise<unknown> {
    await using client = await connect(`${hub.url}/mcp/${server}`);
    return await client.call(tool, {});
  }

  /** Calls the server until it answers with the wanted word. Rejects if a call fails. */
  async function untilItSays(server: string, wanted: string): Promise<void> {
    await using client = await connect(`${hub.url}/mcp/${server}`);
    await until(
      () => client.call('word', {}),
      said => said === wanted,
      60_000,
    );
  }

  /** Waits until the hub refuses the new files, and returns the reason. */
  async function refusal(server: string): Promise<string> {
    const found = await until(
      () => getJson(hub, `/servers/${server}`),
      about => isObject(about) && about['refused_entry'] !== undefined,
      60_000,
    );
    return JSON.stringify(isObject(found) ? found['refused_entry'] : undefined);
  }

  test('run in the same sandbox as any image, without the secrets of the folder', async () => {
    assert.equal(await word('own'), 'one');
    assert.equal(await word('own', 'files'), 'Dockerfile server.mjs stdio.mjs');
    const { Config, HostConfig } = await docker.getContainer(`${hubName}-own`).inspect();
    assert.equal(Config.User, '65532:65532');
    assert.deepEqual(HostConfig.CapDrop, ['ALL']);
    assert.ok(HostConfig.ReadonlyRootfs);
    assert.equal(HostConfig.NetworkMode, 'none');
  });

  // This test takes 10 s.
  test.runIf(isLong)(
    'are built by npm if there is a package.json, as an unprivileged user',
    async () => {
      assert.equal(await word('project'), 'one');
      assert.equal(
        await word('project', 'files'),
        'dist package-lock.json package.json server.mjs stdio.mjs',
      );
      const { Config } = await docker.getContainer(`${hubName}-project`).inspect();
      assert.equal(Config.User, '1000:1000');
    },
  );

  test.for(['own', 'kept'])(
    '%s is rebuilt when its files change, and no call fails',
    async name => {
      await write(`${name}/server.mjs`, program('two'));
      await untilItSays(name, 'two');
    },
  );

  const cached = `${dockerfile}RUN --mount=type=cache,target=/x true\n`;
  const buildKit = ['kept', 'Dockerfile', cached, /BuildKit/] as const;
  test.for([
    ['own', 'server.mjs', 'process.exit(7);', /exited with code 7/],
    [
      'kept',
      'Dockerfile',
      `${dockerfile}RUN exit 9\n`,
      /returned a non-zero code: 9|could not be built/,
    ],
    ...(isLong ? [buildKit] : []),
  ] as const)(
    '%s is unchanged if the new %s does not work, with the reason',
    async ([name, file, broken, why]) => {
      await write(`${name}/${file}`, broken);
      assert.match(await refusal(name), why);
      assert.equal(await word(name), 'two');
      await write(`${name}/Dockerfile`, dockerfile);
      await write(`${name}/server.mjs`, program('two'));
      await until(
        () => getJson(hub, `/servers/${name}`),
        about => isObject(about) && about['refused_entry'] === undefined,
        60_000,
      );
      assert.equal(await word(name), 'two');
    },
  );
});
