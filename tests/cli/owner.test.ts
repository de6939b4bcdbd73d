import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { type RunningHub, announceRunning, openDataDir } from '#store';
import { findOwnerAccess, socketOf } from '../../hub/cli/owner.ts';
import { createHubClient } from '../../hub/cli/hub-client.ts';

const signal = AbortSignal.timeout(20_000);
const composeKey = 'c'.repeat(43);

/** Locks a data folder as a running hub does, and announces in it where the hub listens. */
async function held(hub: RunningHub) {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-owner-'));
  const data = await openDataDir(path, () => 'abcdef0123456789');
  await announceRunning(path, hub);
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await data[Symbol.asyncDispose]();
  };
  return {
    path,
    key: data.ownerKey,
    close,
    async [Symbol.asyncDispose]() {
      await close();
      await rm(path, { recursive: true });
    },
  };
}

const options = (dataDirs: readonly string[] = [], more: object = {}) => ({
  dataDirs,
  keyFile: undefined,
  isNamed: false,
  compose: undefined,
  ...more,
});

/** Starts a server that requests the owner's key, and records the credentials it receives. */
async function squat(host = '127.0.0.1', port = 0) {
  const authorizations: (string | undefined)[] = [];
  const server: Server = createServer(({ headers }, response) => {
    authorizations.push(headers.authorization);
    response.writeHead(401, { 'www-authenticate': 'Bearer scope="administer"' }).end('{}');
  });
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound ? bound.port : 0,
    authorizations,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

/** Puts a `docker` on PATH that records its arguments in a file, and answers like the hub's compose project. */
async function fakeDocker(published: string) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-docker-'));
  const words = join(folder, 'words');
  await writeFile(
    join(folder, 'docker'),
    `#!/bin/sh
printf '%s\\n' "$*" >> '${words}'
case "$*" in
  *' port hub '*) echo '${published}' ;;
  *' exec '*) echo '${composeKey}' ;;
esac
`,
  );
  await chmod(join(folder, 'docker'), 0o755);
  const file = join(folder, 'docker-compose.yml');
  return {
    compose: { file, env: { PATH: `${folder}:${process.env['PATH'] ?? ''}` } },
    file,
    words: async () => (await readFile(words, 'utf8')).trim().split('\n'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

describe("the owner's key", () => {
  test('is sent to the hub that runs with the folder, on its own socket', async () => {
    const sockets = ['127.0.0.1:9090'];
    await using folder = await held({ url: 'http://localhost:9090', sockets });
    for (const url of ['http://localhost:9090', 'http://127.0.0.1:9090/mcp'])
      assert.deepEqual(await findOwnerAccess(url, options(['/nowhere', folder.path]), signal), {
        key: folder.key,
        dial: { host: '127.0.0.1', port: 9090 },
      });
  });

  test('is not sent to any other address, nor after the hub has ended', async () => {
    const sockets = ['127.0.0.1:9090'];
    await using folder = await held({ url: 'http://localhost:9090', sockets });
    const refused = { code: 'HUB_OWNER_ONLY', message: /needs the owner's key of the hub at/ };
    for (const url of [
      'http://localhost:6666',
      'http://[::1]:9090',
      'http://127.0.0.2:9090',
      'http://192.0.2.1:9090',
      'http://hub.example:9090',
      'https://hub.example',
    ])
      await assert.rejects(findOwnerAccess(url, options([folder.path]), signal), refused, url);
    await folder.close();
    const url = 'http://localhost:9090';
    await assert.rejects(findOwnerAccess(url, options([folder.path]), signal), refused);
  });

  test('is not sent to a program that took the port of a hub which was killed', async () => {
    await using squatter = await squat();
    const url = `http://localhost:${squatter.port}`;
    const sockets = [`127.0.0.1:${squatter.port}`];
    await using folder = await held({ url, sockets });
    await folder.close();
    // Files that a killed hub leaves: the key, and the announcement of its address.
    await announceRunning(folder.path, { url, sockets });
    const client = createHubClient(
      {
        url,
        token: undefined,
        ownerAccess: ending => findOwnerAccess(url, options([folder.path]), ending),
      },
      { signal, clock: systemClock },
    );
    const asked = client.ask({ method: 'POST', path: '/config/reload' });
    await assert.rejects(asked, { code: 'HUB_OWNER_ONLY' });
    assert.deepEqual(squatter.authorizations, [undefined]);
  });

  test('is not sent to a program that listens at the other address of localhost', async () => {
    await using hub = await squat('127.0.0.1');
    const url = `http://localhost:${hub.port}`;
    await using squatter = await squat('::1', hub.port);
    await using folder = await held({ url, sockets: [`127.0.0.1:${hub.port}`] });
    const client = createHubClient(
      {
        url,
        token: undefined,
        ownerAccess: ending => findOwnerAccess(url, options([folder.path]), ending),
      },
      { signal, clock: systemClock },
    );
    const asked = client.ask({ method: 'POST', path: '/config/reload' });
    await assert.rejects(asked, { message: /has another owner's key/ });
    assert.ok(!squatter.authorizations.includes(`Bearer ${folder.key}`));
    assert.ok(hub.authorizations.includes(`Bearer ${folder.key}`));
  });

  test('of a hub in compose is read in its container, where compose publishes that port', async () => {
    await using docker = await fakeDocker('127.0.0.1:9191');
    const { compose, file } = docker;
    assert.deepEqual(
      await findOwnerAccess('http://localhost:9191', options([], { compose }), signal),
      { key: composeKey, dial: { host: '127.0.0.1', port: 9191 } },
    );
    assert.deepEqual(await docker.words(), [
      `compose --file ${file} port hub 9191`,
      `compose --file ${file} exec -T hub node bin/agenthub.mjs key`,
    ]);
  });

  test('of a hub in compose is sent with the first request for a change, and is not read for others', async () => {
    await using hub = await squat();
    await using docker = await fakeDocker(`127.0.0.1:${hub.port}`);
    const url = `http://localhost:${hub.port}`;
    const ownerAccess = (ending: AbortSignal) =>
      findOwnerAccess(url, options([], { compose: docker.compose }), ending);
    const hubIn = () =>
      createHubClient({ url, token: undefined, ownerAccess }, { signal, clock: systemClock });
    await assert.rejects(hubIn().ask({ method: 'POST', path: '/config/reload' }));
    assert.equal(hub.authorizations[0], `Bearer ${composeKey}`);
    const before = hub.authorizations.length;
    await assert.rejects(hubIn().ask({ method: 'GET', path: '/servers' }));
    await assert.rejects(hubIn().ask({ method: 'POST', path: '/mcp' }));
    assert.equal(hub.authorizations[before], undefined);
  });

  test.each([
    '/audit?limit=50',
    '/audit/verify',
    '/logs?hub',
    '/approvals',
    '/secrets',
    '/clients?key=true',
    '/agents/helper/messages',
    '/jobs/1',
    '/servers/memory/login/done',
  ])('of a hub in compose is sent with the first GET %s', async path => {
    await using hub = await squat();
    await using docker = await fakeDocker(`127.0.0.1:${hub.port}`);
    const url = `http://localhost:${hub.port}`;
    const ownerAccess = (ending: AbortSignal) =>
      findOwnerAccess(url, options([], { compose: docker.compose }), ending);
    const place = { url, token: undefined, ownerAccess };
    const client = createHubClient(place, { signal, clock: systemClock });
    await assert.rejects(client.ask({ method: 'GET', path }));
    assert.equal(hub.authorizations[0], `Bearer ${composeKey}`);
  });

  test('of a hub in compose is not read for another port, nor without Docker', async () => {
    await using docker = await fakeDocker('127.0.0.1:9191');
    const refused = { code: 'HUB_OWNER_ONLY' };
    const { compose } = docker;
    const other = findOwnerAccess('http://localhost:9090', options([], { compose }), signal);
    await assert.rejects(other, refused);
    assert.equal((await docker.words()).length, 1);
    const none = { ...compose, env: { PATH: '/nowhere' } };
    const url = 'http://localhost:9191';
    await assert.rejects(findOwnerAccess(url, options([], { compose: none }), signal), refused);
  });

  test('of a hub elsewhere is read from a file, and sent where the command line says, by TLS', async () => {
    await using folder = await held({ url: 'x', sockets: [] });
    const keyFile = join(folder.path, 'owner-key');
    const find = (url: string, isNamed = true, file = keyFile) =>
      findOwnerAccess(url, options([], { keyFile: file, isNamed }), signal);
    for (const url of ['https://hub.example', 'http://127.0.0.1:9090'])
      assert.deepEqual(await find(url), { key: folder.key, dial: undefined });
    await assert.rejects(find('http://hub.example'), /only over TLS/);
    await assert.rejects(find('https://hub.example', false), /with --url/);
    await assert.rejects(find('https://hub.example', true, '/nowhere'), /is not there/);
  });
});

test.for([
  ['http://localhost:9090', ['127.0.0.1:9090', '[::1]:9090'], '127.0.0.1'],
  ['http://localhost:9090', ['[::1]:9090'], '::1'],
  ['http://localhost', ['127.0.0.1:80'], '127.0.0.1'],
  ['http://[::1]:9090', ['[::]:9090'], '::1'],
  ['http://127.0.0.1:9090', ['0.0.0.0:9090'], '127.0.0.1'],
  ['http://127.0.0.1:9090', ['[::]:9090'], '127.0.0.1'],
  ['http://localhost:9090', ['0.0.0.0:9090'], '127.0.0.1'],
  ['http://[::1]:9090', ['0.0.0.0:9090'], undefined],
  ['https://192.0.2.1:9090', ['192.0.2.1:9090'], '192.0.2.1'],
  ['http://192.0.2.1:9090', ['0.0.0.0:9090'], undefined],
  ['http://localhost:9091', ['127.0.0.1:9090'], undefined],
  ['http://localhost.evil.example:9090', ['127.0.0.1:9090'], undefined],
] as const)('%s leads to one of the sockets %j: %s', ([url, sockets, host]) => {
  assert.equal(socketOf(new URL(url), sockets)?.host, host);
});
