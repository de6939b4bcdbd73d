import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
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
