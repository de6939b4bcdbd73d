import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { mergeEnvironment } from '#config';
import { HubError } from '#core';
import { announceRunning, openDataDir } from '#store';
import { createHubLocator } from '../../hub/cli/hub-locator.ts';
import { temporary } from '../config/editing.ts';

const token = 'a-token-of-16-chars';

/** Creates a locator in a folder that contains only what the test writes. */
async function locating(
  env: Readonly<Record<string, string>> = {},
  dotenv = '',
  config = '{}',
  kind: 'user' | 'folder' = 'user',
) {
  const folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, config);
  const dataDir = join(folder.path, 'data');
  const all = { MCP_SERVERS_CONFIG: file, DATA_DIR: dataDir, ...env };
  const locator = createHubLocator({
    env: all,
    root: folder.path,
    layout: async () => ({ kind, configFile: file, dataDir }),
    readEnvironment: async () => mergeEnvironment(all, dotenv),
    readOptions: async () => ({ env: {}, home: folder.path }),
    findKnownHubs: async () => [{ dataDir: '/other/data', running: { url: '', sockets: [] } }],
  });
  return { ...locator, dataDir, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

describe('the hub is', () => {
  test.for([
    [{}, '', 'http://localhost:9090', undefined],
    [{ ROUTER_PORT: '9191' }, 'ROUTER_PORT=9292', 'http://localhost:9191', undefined],
    [{}, 'ROUTER_PORT=9292', 'http://localhost:9292', undefined],
    [{}, `ROUTER_TOKEN=${token}`, 'http://localhost:9090', token],
    [{ ROUTER_TOKEN: token, ROUTER_HOST: '::1' }, '', 'http://localhost:9090', token],
  ] as const)('by %j and %j at %s', async ([env, dotenv, url, expected]) => {
    await using at = await locating(env, dotenv);
    const place = await at.findHub(undefined);
    assert.deepEqual([place.url, place.token], [url, expected]);
  });

  test('at the address of the command line, with the token of the settings', async () => {
    await using at = await locating({ ROUTER_TOKEN: token }, 'ROUTER_PORT=9292');
    const place = await at.findHub('https://hub.example');
    assert.deepEqual([place.url, place.token], ['https://hub.example', token]);
  });

  test('found without a valid config', async () => {
    await using at = await locating({}, '', '{"servers": ');
    assert.equal((await at.findHub(undefined)).url, 'http://localhost:9090');
  });
});

describe('the hub that runs with the data folder', () => {
  const running = { url: 'http://localhost:9393', sockets: ['127.0.0.1:9393'] };

  test.for([
    [{}, '', running.url],
    [{}, 'ROUTER_PORT=9292', running.url],
    [{ ROUTER_PORT: '9191' }, '', 'http://localhost:9191'],
    [{ ROUTER_HOST: '127.0.0.1' }, '', 'http://localhost:9090'],
  ] as const)('is found by %j and %j at %s', async ([env, dotenv, url]) => {
    await using at = await locating(env, dotenv);
    await mkdir(at.dataDir, { recursive: true });
    await using _data = await openDataDir(at.dataDir, () => 'abcdef0123456789');
    await announceRunning(at.dataDir, running);
    assert.equal((await at.findHub(undefined)).url, url);
    assert.equal((await at.findHub('http://localhost:1')).url, 'http://localhost:1');
  });

  test('is no longer found when it has ended, even by a kill', async () => {
    await using at = await locating();
    await mkdir(at.dataDir, { recursive: true });
    const data = await openDataDir(at.dataDir, () => 'abcdef0123456789');
    await data[Symbol.asyncDispose]();
    await announceRunning(at.dataDir, running);
    assert.equal((await at.findHub(undefined)).url, 'http://localhost:9090');
  });

  test('gets the key at once, and no other program does', async () => {
    await using at = await locating();
    await mkdir(at.dataDir, { recursive: true });
    const data = await openDataDir(at.dataDir, () => 'abcdef0123456789');
    await announceRunning(at.dataDir, running);
    const keyAt = async (url?: string) => await (await at.findHub(url)).runningAccess?.();
    const access = { key: data.ownerKey, dial: { host: '127.0.0.1', port: 9393 } };
    assert.deepEqual(await keyAt(), access);
    for (const url of ['http://localhost:9090', 'http://127.0.0.2:9393', 'https://hub.example'])
      assert.equal(await keyAt(url), undefined, url);
    await data[Symbol.asyncDispose]();
    await announceRunning(at.dataDir, running);
    assert.equal(await keyAt(running.url), undefined);
  });
});

describe('a .env file does not decide where the token of the environment is sent:', () => {
  const elsewhere = 'ROUTER_HOST=192.0.2.1\nROUTER_TLS_CERT=a\nROUTER_TLS_KEY=b\n';

  test('an address in it, with a token in the environment, is refused', async () => {
    await using at = await locating({ ROUTER_TOKEN: token }, elsewhere);
    await assert.rejects(at.findHub(undefined), {
      code: 'HUB_USAGE',
      message: /^ROUTER_HOST: a file in this folder says that the hub is at https:\/\/192\.0\.2\.1/,
    });
  });

  test('a token in the same file is sent to its address', async () => {
    await using at = await locating({}, `${elsewhere}ROUTER_TOKEN=${token}`);
    const place = await at.findHub(undefined);
    assert.deepEqual([place.url, place.token], ['https://192.0.2.1:9090', token]);
  });
});

describe("the owner's key", () => {
  const { signal } = new AbortController();

  test('is that of the data folder, also while no hub runs', async () => {
    await using at = await locating();
    assert.equal(await at.findOwnerKey(signal), undefined);
    await mkdir(at.dataDir, { recursive: true });
    const data = await openDataDir(at.dataDir, () => 'abcdef0123456789');
    await data[Symbol.asyncDispose]();
    assert.equal(await at.findOwnerKey(signal), data.ownerKey);
  });

  test('is not sent to a hub that is not known to have it', async () => {
    await using at = await locating();
    const { ownerAccess } = await at.findHub('http://127.0.0.1:1');
    const refused = await ownerAccess?.(signal).catch((error: unknown) => error);
    assert.ok(refused instanceof HubError && refused.code === 'HUB_OWNER_ONLY');
  });

  test('is read from the file that the environment names, not one that .env names', async () => {
    await using at = await locating({ AGENTHUB_OWNER_KEY_FILE: '/none/such' });
    const { ownerAccess } = await at.findHub('https://hub.example');
    await assert.rejects(async () => await ownerAccess?.(signal), /\/none\/such/);
    await using other = await locating({}, 'AGENTHUB_OWNER_KEY_FILE=/none/such');
    const place = await other.findHub('https://hub.example');
    await assert.rejects(async () => await place.ownerAccess?.(signal), {
      code: 'HUB_OWNER_ONLY',
      message: /keeps its key in ".*data"/,
    });
  });
});

test('the files of other hubs are not read for the hub of a folder', async () => {
  const otherHub = '/other/data';
  await using folder = await locating({ DATA_DIR: '' }, '', '{}', 'folder');
  assert.deepEqual(await folder.findDataFolders(), [folder.dataDir]);
  await using user = await locating({ DATA_DIR: '' });
  assert.ok((await user.findDataFolders()).includes(otherHub));
});
