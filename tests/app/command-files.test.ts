import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { neverAborted } from '#core';
import { makeTempFolder } from '#helpers/temp-folder';
import { createCommandFiles } from '../../hub/app/command-files.ts';
import { createHubPaths } from '../../hub/app/hub-paths.ts';
import { createSetup } from '../../hub/app/setup.ts';

const root = join(import.meta.dirname, '..', '..');

test('beside a config file that MCP_SERVERS_CONFIG names, no other file is written', async () => {
  const home = makeTempFolder('command-files');
  const folder = join(home, 'mine');
  await mkdir(folder);
  const file = join(folder, 'mcp.json');
  await writeFile(file, '{"servers": {}}');
  const paths = createHubPaths({
    signal: neverAborted,
    env: { HOME: home, MCP_SERVERS_CONFIG: file },
    platform: 'linux',
    home,
    folder: home,
    root,
    whose: 'running',
  });
  const setup = createSetup({ paths, root, clientFiles: async () => [] });
  const files = createCommandFiles(setup, { version: '1.0.0', root });

  assert.equal(await files.createConfig(), undefined);

  assert.deepEqual(await readdir(folder), ['mcp.json']);
});

test('a damaged lock file is found, with the remedy', async () => {
  const home = makeTempFolder('command-files');
  const file = join(home, 'mcp.json');
  await writeFile(file, '{"servers": {}}');
  const paths = createHubPaths({
    signal: neverAborted,
    env: { HOME: home, MCP_SERVERS_CONFIG: file, DATA_DIR: join(home, 'data') },
    platform: 'linux',
    home,
    folder: home,
    root,
    whose: 'running',
  });
  const setup = createSetup({ paths, root, clientFiles: async () => [] });
  const files = createCommandFiles(setup, { version: '1.0.0', root });
  assert.equal(await files.findLockFault(undefined), undefined);

  const lockFile = join(home, 'mcp.lock.json');
  await writeFile(lockFile, '{"version": 1, "servers": ');

  const fault = await files.findLockFault(undefined);
  assert.ok(fault?.startsWith(`${lockFile}: Unexpected end of JSON input. `), fault);
  assert.match(String(fault), /nothing is pinned or accepted\. Restore it .*, or remove it/);
  assert.equal(await files.findLockFault(join(home, 'other.json')), undefined);
});

test('the login of a server is deleted from the secrets, and no data folder is made for none', async () => {
  const home = makeTempFolder('command-files');
  const dataDir = join(home, 'data');
  const paths = createHubPaths({
    signal: neverAborted,
    env: { HOME: home, DATA_DIR: dataDir },
    platform: 'linux',
    home,
    folder: home,
    root,
    whose: 'running',
  });
  const setup = createSetup({ paths, root, clientFiles: async () => [] });
  const files = createCommandFiles(setup, { version: '1.0.0', root });

  assert.equal(await files.removeStoredLogin('docs'), false);
  assert.deepEqual(await readdir(home), []);

  const { own } = await files.openSecrets();
  await own.write('.oauth-docs', 'its tokens');
  assert.equal(await files.removeStoredLogin('docs'), true);
  assert.equal(await own.read('.oauth-docs'), undefined);
  assert.equal(await files.removeStoredLogin('docs'), false);
});
