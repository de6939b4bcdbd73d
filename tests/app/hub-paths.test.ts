import assert from 'node:assert/strict';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { readSettings } from '#config';
import { neverAborted } from '#core';
import { createRecordingLog } from '#helpers/recording-log';
import { announceRunning, openDataDir } from '#store';
import { createHubPaths } from '../../hub/app/hub-paths.ts';
import { temporary } from '../config/editing.ts';

const id = 'abcdef0123456789';
const root = join(import.meta.dirname, '..', '..');
const running = { url: 'http://localhost:9393', sockets: ['127.0.0.1:9393'] };

/** Creates a user's home, and returns the paths of a hub in the working folders that the test names. */
async function machine(env: Readonly<Record<string, string>> = {}) {
  const temp = await temporary();
  const home = join(temp.path, 'home');
  return {
    home,
    async pathsIn(name: string, whose: 'own' | 'running' | 'trusted' = 'running') {
      const folder = join(temp.path, name);
      await mkdir(folder, { recursive: true });
      return createHubPaths({
        env,
        platform: 'linux',
        home,
        folder,
        root,
        whose,
        signal: neverAborted,
      });
    },
    /** Runs a hub in a folder, with its own config and data. */
    async runIn(name: string) {
      const folder = join(temp.path, name);
      const dataDir = join(folder, 'data');
      await mkdir(dataDir, { recursive: true });
      await writeFile(join(folder, 'hub.yaml'), 'servers: {}\n');
      await writeFile(join(folder, '.env'), `FROM=${name}\n`);
      const data = await openDataDir(dataDir, () => id);
      const { log } = createRecordingLog();
      const paths = await this.pathsIn(name, 'own');
      await paths.note('hub.yaml', readSettings(await paths.readEnvironment()), log);
      await announceRunning(dataDir, running);
      return { folder, data };
    },
    [Symbol.asyncDispose]: temp[Symbol.asyncDispose],
  };
}

test('a hub does not start beside a hub with a copy of its data folder', async () => {
  await using at = await machine();
  const { folder, data } = await at.runIn('first');
  await at.pathsIn('second');
  await cp(folder, join(folder, '..', 'second'), { recursive: true });
  const paths = await at.pathsIn('second', 'own');
  await assert.rejects(paths.requireNoCopy('./data', id), {
    code: 'HUB_DATA_LOCKED',
    message: /"\.\/data" and ".*\/first\/data" are copies .* remove data\/hub-id and set HUB_NAME/,
  });
  await paths.requireNoCopy('./data', '0123456789abcdef');
  await data[Symbol.asyncDispose]();
  await paths.requireNoCopy('./data', id);
});

test('a .env with a byte order mark is read whole, and one in UTF-16 or Latin-1 is refused', async () => {
  await using at = await machine();
  const { folder, data } = await at.runIn('marked');
  await data[Symbol.asyncDispose]();
  const file = join(folder, '.env');
  await writeFile(file, '\uFEFFROUTER_TOKEN=a-token\n');
  const { ROUTER_TOKEN: token } = await (await at.pathsIn('marked', 'own')).readEnvironment();
  assert.equal(token, 'a-token');
  await writeFile(file, '\uFEFFROUTER_TOKEN=a-token\n', 'utf16le');
  await assert.rejects(async () => await (await at.pathsIn('marked', 'own')).readEnvironment(), {
    code: 'HUB_CONFIG_INVALID',
    message: /^\.env: it is in UTF-16, .* Save it as UTF-8$/,
  });
  await writeFile(file, 'ROUTER_TOKEN=a-t\u00f6ken\n', 'latin1');
  await assert.rejects(async () => await (await at.pathsIn('marked', 'own')).readEnvironment(), {
    code: 'HUB_CONFIG_INVALID',
    message: /^\.env: it is not UTF-8, but Latin-1.* Save it as UTF-8$/,
  });
});

test('a .env of another program may be in Latin-1, unlike one that names files of the hub', async () => {
  await using at = await machine();
  const paths = await at.pathsIn('project', 'own');
  const file = join(at.home, '..', 'project', '.env');
  await writeFile(file, '# Schl\u00fcssel\nAPI_URL=https://x.example\n', 'latin1');
  assert.equal((await paths.layout()).kind, 'user');
  assert.equal((await paths.readEnvironment())['API_URL'], undefined);
  await writeFile(file, 'DATA_DIR=./d\u00e4ten\n', 'latin1');
  await assert.rejects(async () => await (await at.pathsIn('project', 'own')).layout(), {
    code: 'HUB_CONFIG_INVALID',
    message: /^\.env: it is not UTF-8/,
  });
});

describe('a command in another folder', () => {
  test('uses the files of the only running hub, unlike a hub that starts', async () => {
    await using at = await machine();
    const { folder, data } = await at.runIn('project');
    await using _held = data;
    const command = await at.pathsIn('elsewhere');
    const { kind, ...layout } = await command.layout();
    assert.equal(kind, 'running');
    assert.deepEqual(
      [layout.configFile, layout.dataDir, layout.dotenvFile],
      [join(folder, 'hub.yaml'), join(folder, 'data'), join(folder, '.env')],
    );
    assert.equal((await command.readEnvironment())['FROM'], 'project');
    assert.equal((await (await at.pathsIn('elsewhere', 'own')).layout()).kind, 'user');
  });

  test('uses the files of the user while no hub, several hubs or the hub of the user runs', async () => {
    await using at = await machine();
    const kindIn = async (name: string) => (await (await at.pathsIn(name)).layout()).kind;
    assert.equal(await kindIn('elsewhere'), 'user');
    const one = await at.runIn('one');
    await using _one = one.data;
    assert.equal(await kindIn('elsewhere'), 'running');
    assert.equal(await kindIn('one'), 'folder', 'a folder with a hub of its own means that one');
    const two = await at.runIn('two');
    assert.equal(await kindIn('elsewhere'), 'user');
    const command = await at.pathsIn('elsewhere');
    assert.deepEqual((await command.dataFolders()).slice(1).toSorted(), [
      join(one.folder, 'data'),
      join(two.folder, 'data'),
    ]);
    await two.data[Symbol.asyncDispose]();
    assert.equal(await kindIn('elsewhere'), 'running', 'a note of a hub that has ended counts not');
  });

  test('uses the files that the environment names before those of a running hub', async () => {
    for (const env of [{ DATA_DIR: '/d' }, { MCP_SERVERS_CONFIG: '/c.json' }]) {
      await using at = await machine(env);
      const { data } = await at.runIn('project');
      await using _held = data;
      assert.equal((await (await at.pathsIn('elsewhere')).layout()).kind, 'user');
    }
  });
});

test('that is a client ignores the .env of the working folder', async () => {
  await using at = await machine();
  const paths = await at.pathsIn('work', 'trusted');
  const folder = join(at.home, '..', 'work');
  await writeFile(join(folder, '.env'), 'DATA_DIR=/elsewhere\nROUTER_TOKEN=of-the-folder-1234\n');
  const env = await paths.readEnvironment();
  assert.equal(env['DATA_DIR'], join(at.home, '.local', 'share', 'agenthub'));
  assert.equal(env['ROUTER_TOKEN'], undefined);
});

describe('a first start', () => {
  const reported = async (paths: ReturnType<typeof createHubPaths>, named?: string) => {
    const { log, logged } = createRecordingLog();
    await paths.report(await paths.writeFirst(named), log);
    return logged.map(({ message }) => message).join();
  };

  test('writes the shipped config into the folder of the user, once', async () => {
    await using at = await machine();
    const paths = await at.pathsIn('work', 'own');
    assert.match(await reported(paths), /^wrote the config file/);
    const text = await readFile(join(at.home, '.config/agenthub/mcp-servers.json'), 'utf8');
    assert.equal(text, await readFile(paths.shipped.configFile, 'utf8'));
    assert.equal(await reported(paths), '');
  });

  test('writes nothing where the user names a file, and in a container', async () => {
    for (const [env, named] of [
      [{}, 'mine.json'],
      [{ MCP_SERVERS_CONFIG: 'mine.json' }, undefined],
      [{ AGENTHUB_IN_CONTAINER: '1' }, undefined],
    ] as const) {
      await using at = await machine(env);
      const paths = await at.pathsIn('work', 'own');
      assert.deepEqual(await paths.writeFirst(named), { kind: 'kept' });
    }
  });

  test('uses the shipped config where it cannot write, and says so', async () => {
    await using at = await machine({ AGENTHUB_HOME: '/dev/null/agenthub' });
    assert.match(await reported(await at.pathsIn('work', 'own')), /cannot be written/);
  });

  test('names the config of the working folder that is not used, and the one that comes first', async () => {
    await using at = await machine();
    const paths = await at.pathsIn('work', 'own');
    const folder = join(at.home, '..', 'work');
    await mkdir(join(folder, 'configs'));
    await writeFile(join(folder, 'configs', 'mcp-servers.json'), '{}');
    await writeFile(join(folder, 'hub.yaml'), '');
    assert.match(
      await reported(paths),
      /^\.\/hub\.yaml is not used, because \.\/configs\/mcp-servers\.json comes first/,
    );
  });
});
