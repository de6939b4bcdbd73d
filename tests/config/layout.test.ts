import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'vitest';
import { findLayout, withLayout } from '#config';
import { temporary } from './editing.ts';

const own = './configs/mcp-servers.json';

/** Returns the layout of a working folder with `files`, for a user whose folders contain the files `mine`. */
async function layoutOf({
  files = [],
  mine = [],
  env = {},
  dotenv = '',
  isInstallation = false,
}: {
  readonly files?: readonly string[];
  readonly mine?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly dotenv?: string;
  readonly isInstallation?: boolean;
}) {
  await using temp = await temporary();
  const folder = join(temp.path, 'work');
  const user = { config: join(temp.path, 'mine'), data: '/data', state: '/state' };
  await mkdir(folder);
  for (const file of [
    ...files.map(name => join(folder, name)),
    ...mine.map(name => join(user.config, name)),
  ]) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '{}');
  }
  const layout = findLayout({ env, dotenv, folder, isInstallation, user });
  const short = (path: string) => path.replace(user.config, 'MINE');
  return {
    ...layout,
    configFile: short(layout.configFile),
    rulesFile: short(layout.rulesFile),
    dotenvFile: short(layout.dotenvFile),
  };
}

describe('the config and the data are', () => {
  test.for([
    ['of the user in an empty folder', {}, 'user', 'MINE/mcp-servers.json', '/data', 'MINE/.env'],
    [
      'of the user in a folder with variables of another program',
      { dotenv: 'LOG_LEVEL=debug' },
      'user',
      'MINE/mcp-servers.json',
      '/data',
      'MINE/.env',
    ],
    [
      'of the user in a clone, with its variables',
      { dotenv: 'LOG_LEVEL=debug', isInstallation: true },
      'user',
      'MINE/mcp-servers.json',
      '/data',
      '.env',
    ],
    [
      'of the user, who wrote YAML',
      { mine: ['hub.yaml'] },
      'user',
      'MINE/hub.yaml',
      '/data',
      'MINE/.env',
    ],
    ['of a folder with a config', { files: [own] }, 'folder', own, './data', '.env'],
    ['of a folder with YAML', { files: ['hub.yaml'] }, 'folder', './hub.yaml', './data', '.env'],
    ['of a folder with .yml', { files: ['hub.yml'] }, 'folder', './hub.yml', './data', '.env'],
    [
      'of a folder in which a hub ran, as every folder was before',
      { files: ['data/hub-id'] },
      'folder',
      own,
      './data',
      '.env',
    ],
    [
      'of the user in a folder with other data',
      { files: ['data/rows.csv'] },
      'user',
      'MINE/mcp-servers.json',
      '/data',
      'MINE/.env',
    ],
    [
      'where the environment says',
      { env: { MCP_SERVERS_CONFIG: 'a.json', DATA_DIR: 'b' }, files: [own] },
      'folder',
      'a.json',
      'b',
      '.env',
    ],
    ['where .env says', { dotenv: 'MCP_SERVERS_CONFIG=a.json' }, 'user', 'a.json', '/data', '.env'],
    [
      'of the folder if .env spells out the default of earlier versions',
      { dotenv: `MCP_SERVERS_CONFIG=${own}\nDATA_DIR=./data` },
      'folder',
      own,
      './data',
      '.env',
    ],
    [
      'of the folder in a container',
      { env: { AGENTHUB_IN_CONTAINER: '1' } },
      'folder',
      own,
      './data',
      '.env',
    ],
  ] as const)('%s', async ([, at, kind, configFile, dataDir, dotenvFile]) => {
    const layout = await layoutOf(at);
    assert.deepEqual(
      [layout.kind, layout.configFile, layout.dataDir, layout.dotenvFile],
      [kind, configFile, dataDir, dotenvFile],
    );
  });
});

test('a second config in the folder is ignored, and named', async () => {
  const { configFile, passedOver } = await layoutOf({ files: [own, 'hub.yaml'] });
  assert.deepEqual([configFile, passedOver], [own, './hub.yaml']);
  const named = { files: [own, 'hub.yaml'], env: { MCP_SERVERS_CONFIG: 'c.json' } };
  assert.equal((await layoutOf(named)).passedOver, undefined);
});

test('the environment gets the files of the layout, but keeps a rules file that the user named', async () => {
  const layout = await layoutOf({});
  const env = withLayout({ DATA_DIR: '', OTHER: 'x' }, layout);
  assert.deepEqual(env, {
    OTHER: 'x',
    MCP_SERVERS_CONFIG: 'MINE/mcp-servers.json',
    DATA_DIR: '/data',
    ENHANCEMENT_RULES_CONFIG: 'MINE/enhancement-rules.json',
  });
  const named = withLayout({ ENHANCEMENT_RULES_CONFIG: 'mine.json' }, layout);
  assert.equal(named['ENHANCEMENT_RULES_CONFIG'], 'mine.json');
});
