import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadConfig } from '#config';
import { HubError } from '#core';

// A folder of configs and a home folder with links in them, and a third folder outside both.
let top = '';
let folder = '';
let home = '';
const engine = createServer();

beforeAll(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-links-')));
  folder = join(top, 'configs');
  home = join(top, 'home');
  for (const made of ['configs/inner/docs', 'home/docs', 'elsewhere/docs', 'engine'])
    await mkdir(join(top, made), { recursive: true });
  for (const [target, at] of [
    ['inner', 'configs/to-inner'],
    ['../elsewhere', 'configs/to-elsewhere'],
    ['/etc', 'configs/etc'],
    ['/var/run/docker.sock', 'configs/s'],
    ['../later', 'configs/to-nothing'],
    ['round', 'configs/round'],
    ['/var/lib', 'configs/to-data'],
    ['../elsewhere', 'home/to-elsewhere'],
    ['configs', 'beside'],
  ] as const)
    await symlink(target, join(top, at));
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.listen(join(top, 'engine/podman.sock'), resolve);
  await promise;
});

afterAll(async () => {
  engine.close();
  await rm(top, { recursive: true, force: true });
});

/** Loads a config with this entry. Returns its launch settings, or the error message. */
async function load(entry: object, env: Record<string, string> = {}, at = folder) {
  const file = join(at, 'hub.json');
  await writeFile(file, JSON.stringify({ servers: { one: { args: [], ...entry } } }));
  try {
    const { servers } = await loadConfig(file, { env, home });
    const launch = servers[0]?.launch;
    return launch?.kind === 'local' ? launch : assert.fail('not a local server');
  } catch (error) {
    assert.ok(error instanceof HubError, String(error));
    return error.message;
  }
}

async function sourceOf(mount: string | object, env = {}, at = folder): Promise<string> {
  const loaded = await load({ image: 'server:1', mounts: [mount] }, env, at);
  return typeof loaded === 'string' ? loaded : (loaded.sandbox.mounts[0]?.source ?? '');
}

describe('a source is mounted from its real path', () => {
  test.for([
    ['inner:/d', 'configs/inner'],
    ['to-inner:/d', 'configs/inner'],
    ['to-inner/docs:/d:rw', 'configs/inner/docs'],
    ['to-inner/absent:/d', 'configs/inner/absent'],
    ['round:/d', 'configs/round'],
    ['~/docs:/d', 'home/docs'],
  ] as const)('%s is %s', async ([mount, expected]) => {
    assert.equal(await sourceOf(mount), join(top, expected));
  });

  test('an absolute source may go through links, and its real path is checked', async () => {
    const elsewhere = join(top, 'elsewhere/docs');
    assert.equal(await sourceOf(`${folder}/to-elsewhere/docs:/d`), elsewhere);
    const mounts = [{ source: `${folder}/etc`, target: '/d' }];
    const loaded = await load({ image: 'server:1', mounts, allow_sensitive: true });
    assert.ok(typeof loaded !== 'string', 'it is mounted');
    assert.equal(loaded.sandbox.mounts[0]?.source, await realpath('/etc'));
  });

  test('the folder of the config may itself be reached through a link', async () => {
    const behind = join(top, 'beside');
    assert.equal(await sourceOf('inner:/d', {}, behind), join(folder, 'inner'));
  });
});

describe('a source is refused', () => {
  test.for([
    ['etc:/d', 'a link in it leads to "/etc", outside its folder; write that path'],
    ['etc/ssl:/d', 'a link in it leads to "/etc/ssl"'],
    ['to-elsewhere/docs:/d', '/elsewhere/docs", outside its folder'],
    ['to-elsewhere/absent:/d', '/elsewhere/absent", outside its folder'],
    ['to-nothing:/d', '/later", outside its folder'],
    ['~/to-elsewhere:/d', '/elsewhere", outside its folder'],
    ['s:/d:rw', 'docker.sock", outside its folder'],
    ['/var/lib/docker:/d:rw', 'is in /var/lib/docker, which gives control over this machine'],
    ['/etc:/d:rw', 'mount it read-only'],
    [{ source: '', target: '/d' }, 'write the path of a file or folder'],
  ] as const)('%j: %s', async ([mount, told]) => {
    const message = await sourceOf(mount);
    assert.ok(message.includes('servers.one.mounts[0]') && message.includes(told), message);
  });

  test.for([
    ['/s:/d', "the engine's socket"],
    ['/to-data:/d', '/var/lib/docker'],
    ['/to-data/docker:/d', '/var/lib/docker'],
    ['/etc:/d:rw', 'mount it read-only'],
  ] as const)('for its real path, even if it is absolute: %s', async ([mount, told]) => {
    const message = await sourceOf(`${folder}${mount}`);
    assert.ok(message.includes('is not allowed') && message.includes(told), message);
  });

  test('if the socket of an engine, or of DOCKER_HOST, is in it', async () => {
    assert.match(await sourceOf(`${top}/engine:/d`), /the engine's socket/);
    const elsewhere = `${top}/elsewhere:/d`;
    assert.equal(await sourceOf(elsewhere), join(top, 'elsewhere'));
    const env = { DOCKER_HOST: `unix://${top}/elsewhere/my/engine` };
    assert.match(await sourceOf(elsewhere, env), /the engine's socket/);
  });
});

test('if it leaves the folder of the config through a link, also as a working folder', async () => {
  const inside = await load({ command: 'server', cwd: 'to-inner' });
  assert.equal(typeof inside === 'string' ? inside : inside.workingDirectory, `${folder}/inner`);
  const message = await load({ command: 'server', cwd: 'to-elsewhere' });
  assert.ok(typeof message === 'string');
  assert.match(message, /servers\.one\.cwd: .*outside its folder/);
});
