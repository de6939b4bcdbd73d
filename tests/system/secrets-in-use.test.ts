import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, settled, startHub } from '#helpers/hub-process';
import { removeVolumes } from '#helpers/volumes';
import { placesOf, shownIn } from './places-of-secrets.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');
const hubName = `secrets-${randomUUID().slice(0, 8)}`;

/** Secrets of the hub, by name. Their files end with an additional line break, which is not part of the value. */
const secrets = {
  NPM_TOKEN: `npm/${randomUUID()}+?&="'\\`,
  PYPI_TOKEN: `pypi-${randomUUID()} ünï 🦊`,
  PEM: `-----BEGIN KEY-----\n${randomUUID()}\n${randomUUID()}\n-----END KEY-----\n`,
  WINDOWS: `${randomUUID()}\r\n${randomUUID()}\r\n`,
  PASSWORD: randomUUID(),
  LONG: randomBytes(75_000).toString('base64'),
};

/** Variables that the server `keeper` must have in its environment. */
const expected = () => ({
  PEM: secrets.PEM,
  WINDOWS: secrets.WINDOWS,
  LONG: secrets.LONG,
  DATABASE: `postgres://user:${secrets.PASSWORD}@localhost/db`,
  PLAIN: 'plain',
});

const config = {
  servers: {
    memory: {
      package: '@modelcontextprotocol/server-memory@2026.8.31',
      env: { NPM_TOKEN: '${secret:NPM_TOKEN}' },
      auto_start: true,
    },
    time: {
      command: 'uvx',
      args: ['mcp-server-time@2026.10.19'],
      env: { PYPI_TOKEN: '${secret:PYPI_TOKEN}' },
      auto_start: true,
    },
    keeper: {
      image: 'node:24-bookworm-slim',
      command: 'node',
      args: ['/fixtures/digests.mjs'],
      mounts: [{ source: fixtures, target: '/fixtures' }],
      env: {
        PEM: '${secret:PEM}',
        WINDOWS: '${secret:WINDOWS}',
        LONG: '${secret:LONG}',
        DATABASE: 'postgres://user:${secret:PASSWORD}@localhost/db',
        PLAIN: 'plain',
      },
      auto_start: true,
    },
    process: {
      runtime: 'process',
      command: process.execPath,
      args: [join(fixtures, 'digests.mjs')],
      env: { PEM: '${secret:PEM}' },
      auto_start: true,
    },
  },
};

let hub: HubProcess;
let folder = '';
let dataDir = '';

const fileOf = (name: string) => join(folder, name);
const write = (name: string, value: string) => writeFileSync(fileOf(name), `${value}\n`);

const start = () =>
  startHub({
    config,
    dataDir,
    env: {
      HUB_NAME: hubName,
      LOG_LEVEL: 'trace',
      ...Object.fromEntries(Object.keys(secrets).map(name => [`${name}_FILE`, fileOf(name)])),
    },
  });

async function post(path: string): Promise<unknown> {
  const answer = await fetch(`${hub.url}${path}`, { method: 'POST', headers: hub.ownerHeaders });
  assert.equal(answer.status, 200);
  return await answer.json();
}

/** Returns the digests of those variables of a server that are expected. */
async function digests(server: string): Promise<unknown> {
  await using client = await connect(`${hub.url}/mcp/${server}`);
  const found: unknown = JSON.parse(await client.call('digests', {}));
  assert.ok(isObject(found));
  return Object.fromEntries(Object.keys(expected()).map(name => [name, found[name]]));
}
const digestsOfExpected = () =>
  Object.fromEntries(
    Object.entries(expected()).map(([name, value]) => [name, hash('sha256', value)]),
  );

/** Returns the id of a server's container, which an upgrade or a restart changes. */
async function containerOf(server: string): Promise<string> {
  const shown = await getJson(hub, `/servers/${server}`);
  const about = isObject(shown) && isObject(shown['instance']) ? shown['instance'] : {};
  return String(about['containerId']);
}

async function containers(): Promise<Record<string, string>> {
  const servers = ['memory', 'time', 'keeper'];
  const found = await Promise.all(servers.map(async server => [server, await containerOf(server)]));
  return Object.fromEntries(found);
}

/** Searches the hub for secrets: its API, its pages, its log, and each file of its data folder. */
async function placesOfHub(): Promise<readonly string[]> {
  const paths = ['/health', '/metrics', '/activity', '/servers', '/config', '/jobs'];
  const pages = ['', '/activity', '/caches', '/sessions', '/install', '/stats-partial'];
  const servers = Object.keys(config.servers);
  const all = [
    ...paths,
    ...pages.map(page => `/dashboard${page}`),
    ...servers.flatMap(name => [
      `/servers/${name}`,
      `/servers/${name}/logs`,
      `/health/${name}`,
      `/dashboard/servers/${name}`,
    ]),
  ];
  const found: string[] = [];
  for (const path of all) {
    const answer = await fetch(`${hub.url}${path}`, { headers: hub.ownerHeaders });
    const text = await answer.text();
    assert.ok(text.length > 0, path);
    const more = [...text.matchAll(/"id":"?([\w-]+)/g)].map(([, id]) => `/activity/${id}`);
    if (path === '/activity') all.push(...more);
    found.push(...shownIn(path, text, secrets));
  }
  found.push(...shownIn('log', hub.log(), secrets));
  const files = globSync('**/*', { cwd: dataDir }).map(name => join(dataDir, name));
  for (const file of files.filter(each => statSync(each).isFile()))
    found.push(...shownIn(file, readFileSync(file), secrets));
  assert.ok(files.length > 5, files.join());
  return found;
}

describeWithEngine('secrets in use', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agenthub-secrets-'));
    dataDir = mkdtempSync(join(tmpdir(), 'agenthub-secrets-data-'));
    for (const [name, value] of Object.entries(secrets)) write(name, value);
    hub = await start();
    const found = await settled(hub, 280_000);
    const running = Object.keys(config.servers).map(name => [name, 'running']);
    assert.deepEqual(found, Object.fromEntries(running), hub.log());
  }, 300_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await removeVolumes(hubName);
    for (const each of [folder, dataDir]) rmSync(each, { recursive: true, force: true });
    const left = execFileSync('docker', ['ps', '-aq', '--filter', `name=${hubName}-`]);
    assert.equal(left.toString(), '', 'the hub leaves no container behind');
  });

  test('reach published servers of npm and PyPI, a server in an image, and a process', async () => {
    for (const [server, name] of [
      ['memory', 'NPM_TOKEN'],
      ['time', 'PYPI_TOKEN'],
    ] as const) {
      const id = await containerOf(server);
      const all = 'cat /proc/[0-9]*/environ 2>/dev/null || true';
      const environments = execFileSync('docker', ['exec', id, 'sh', '-c', all]);
      assert.ok(environments.includes(`\0${name}=${secrets[name]}\0`), server);
    }
    assert.deepEqual(await digests('keeper'), digestsOfExpected());
    await using client = await connect(`${hub.url}/mcp/process`);
    const found = await client.call('digests', {});
    assert.ok(found.includes(`"PEM":"${hash('sha256', secrets.PEM)}"`));
  });

  test('are told as delivered by stdin, or by the environment of a process', async () => {
    const told = Object.keys(config.servers).map(async name => {
      const server = await getJson(hub, `/servers/${name}`);
      return [name, isObject(server) && server['secrets']];
    });
    assert.deepEqual(Object.fromEntries(await Promise.all(told)), {
      memory: 'stdin',
      time: 'stdin',
      keeper: 'stdin',
      process: 'environment',
    });
  });

  test('are shown by neither the engine nor the hub', { timeout: 120_000 }, async () => {
    await digests('keeper');
    for (const server of ['memory', 'time', 'keeper'])
      assert.deepEqual(await placesOf(secrets, await containerOf(server)), []);
    assert.deepEqual(await placesOfHub(), []);
  });

  test('are sent again when their server is restarted', async () => {
    const before = await containers();
    await post('/servers/keeper/restart');
    assert.notEqual((await containers())['keeper'], before['keeper']);
    assert.deepEqual(await digests('keeper'), digestsOfExpected());
  });

  test('are replaced by a reload once they have changed, in the servers that use them', async () => {
    const before = await containers();
    await post('/config/reload');
    assert.deepEqual(await containers(), before, 'nothing has changed');
    secrets.PASSWORD = randomUUID();
    write('PASSWORD', secrets.PASSWORD);
    await post('/config/reload');
    await settled(hub, 30_000);
    assert.deepEqual(await digests('keeper'), digestsOfExpected());
    const { keeper, ...others } = await containers();
    const { keeper: old, ...same } = before;
    assert.notEqual(keeper, old);
    assert.deepEqual(others, same);
  });

  test('are still there after a kill -9 of the hub, in the same processes', async () => {
    const before = await containers();
    await hub.kill();
    hub = await start();
    await settled(hub, 60_000);
    assert.deepEqual(await containers(), before);
    assert.deepEqual(await digests('keeper'), digestsOfExpected());
    const told = await getJson(hub, '/servers/keeper');
    assert.equal(isObject(told) && told['secrets'], 'stdin');
    assert.deepEqual(await placesOfHub(), []);
  });
});
