import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { type ServerResponse, createServer as createListener } from 'node:http';
import { createServer as createTlsListener } from 'node:https';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { HubError, type JsonObject, isObject } from '#core';
import { createInstallHub } from './hub.ts';

/** Returns the error with which an install fails. */
async function failureOf(work: Promise<unknown>): Promise<HubError> {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof HubError, String(error));
  return error;
}

/** Starts a server that answers every request alike. */
async function answering(status: number, body = '', tls?: { key: Buffer; cert: Buffer }) {
  const work = (_: unknown, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  const server = tls ? createTlsListener(tls, work) : createListener(work);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: unknown = server.address();
  assert.ok(isObject(address));
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${String(address['port'])}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns the names of the servers that have folders. */
const leftOf = (hub: ReturnType<typeof createInstallHub>) =>
  existsSync(join(hub.folder, 'servers')) ? readdirSync(join(hub.folder, 'servers')) : [];

describe('an install', () => {
  test('tries the server, writes its entry and returns what it offers', async () => {
    await using hub = createInstallHub();
    const installed = await hub.install({
      source: { package: 'npm:echo@1.0.0' },
      env: { GREETING: 'hello' },
      rest: { description: 'says what it hears' },
    });
    assert.equal(installed.name, 'echo');
    assert.deepEqual(hub.entries.get('echo'), {
      package: 'echo@1.0.0',
      env: { GREETING: 'hello' },
      description: 'says what it hears',
    });
    assert.ok(isObject(installed['tools']));
    assert.ok(Number(installed['tools']['count']) > 0);
    assert.deepEqual(
      [...new Set(hub.progress.map(({ step }) => step))],
      ['validate', 'resolve', 'build', 'trial', 'write'],
    );
    assert.ok(
      hub.launched.every(({ instance }) => instance !== undefined),
      'none but trials ran',
    );
  });

  test('uses a free name for a server, and refuses one that is in use', async () => {
    await using hub = createInstallHub();
    await hub.install({});
    assert.equal((await hub.install({})).name, 'echo-2');
    const refused = await failureOf(hub.install({ name: 'echo' }));
    assert.equal(refused.code, 'HUB_SERVER_EXISTS');
    assert.match(refused.message, /"echo" already.*"agenthub remove echo"/);
  });

  test('wins against a second install of the same name at the same time', async () => {
    await using hub = createInstallHub();
    const both = await Promise.allSettled([
      hub.install({ name: 'mine' }),
      hub.install({ name: 'mine' }),
    ]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    const [, lost] = both;
    assert.ok(lost?.status === 'rejected');
    assert.match(String(lost.reason), /being installed or removed by another request/);
    assert.deepEqual([...hub.entries.keys()], ['mine']);
  });

  test('is refused while four are in progress', async () => {
    await using hub = createInstallHub();
    const four = ['a', 'b', 'c', 'd'].map(name => hub.install({ name }));
    assert.equal((await failureOf(hub.install({ name: 'e' }))).code, 'HUB_INSTALLS_FULL');
    await Promise.all(four);
    assert.equal((await hub.install({ name: 'e' })).name, 'e');
  });

  test('that the client aborts leaves nothing', async () => {
    await using hub = createInstallHub();
    const hangUp = new AbortController();
    const work = hub.install({ source: { package: 'never-ready@1.0.0' } }, hangUp.signal);
    const failed = failureOf(work);
    while (hub.launched.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
    hangUp.abort();
    assert.equal((await failed).code, 'HUB_CALL_CANCELLED');
    assert.equal(hub.entries.size, 0);
    assert.deepEqual(leftOf(hub), []);
    assert.equal((await hub.install({ name: 'never-ready' })).name, 'never-ready');
  });

  test('is aborted with the hub, which waits until nothing of it is left', async () => {
    await using hub = createInstallHub();
    const failed = failureOf(hub.install({ source: { package: 'never-ready@1.0.0' } }));
    while (hub.launched.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
    await hub.installs.stop();
    assert.deepEqual(leftOf(hub), []);
    assert.equal((await failed).code, 'HUB_SHUTTING_DOWN');
    assert.equal((await failureOf(hub.install({}))).code, 'HUB_SHUTTING_DOWN');
  });

  test('whose entry cannot be written leaves nothing', async () => {
    await using hub = createInstallHub({
      add: () => Promise.reject(new HubError('HUB_CONFIG_INVALID', 'the disk is full')),
    });
    const failed = await failureOf(hub.install({}));
    assert.equal(failed.code, 'HUB_CONFIG_INVALID');
    assert.equal(failed.data['step'], 'write');
    assert.deepEqual(leftOf(hub), []);
  });

  test('that is overtaken by a hand edit of the same name leaves what the server of that entry has', async () => {
    await using hub = createInstallHub({
      async add(name) {
        await hub.write(name, { package: 'echo@1.0.0' });
        throw new HubError('HUB_CONFIG_CONFLICT', 'there is a server of that name already');
      },
    });
    assert.equal((await failureOf(hub.install({ name: 'notes' }))).code, 'HUB_CONFIG_CONFLICT');
    assert.deepEqual(leftOf(hub), ['notes']);
  });

  test('writes references of the caller to variables unchanged', async () => {
    await using hub = createInstallHub();
    const env = { API_TOKEN: '${GIVEN}', OTHER_TOKEN: 'ghp_0123456789abcdef' };
    const installed = await hub.install({ env, confirm: ['variable:GIVEN'] });
    assert.deepEqual(hub.entries.get('echo')?.['env'], env);
    assert.deepEqual(installed['in_clear'], ['env.OTHER_TOKEN']);
    assert.ok(!JSON.stringify(installed).includes('ghp_'));
    assert.equal(hub.launched[0]?.env['API_TOKEN'], 'value');
  });
});

describe('an install fails with the output and a remedy', () => {
  const cases = [
    {
      fault: 'a package that there is none of',
      request: { source: { package: 'absent@1.0.0' } },
      code: 'HUB_SERVER_START_FAILED',
      message: /absent did not start/,
      output: /npm error code E404/,
    },
    {
      fault: 'a server that wants a variable',
      request: { source: { package: 'wants-a-key@1.0.0' } },
      code: 'HUB_SERVER_START_FAILED',
      message: /"env": \{"EXAMPLE_API_KEY": "\$\{secret:EXAMPLE_API_KEY\}"\}/,
      output: /EXAMPLE_API_KEY is required/,
    },
    {
      fault: 'a program that is no server',
      request: { source: { package: 'no-server@1.0.0' }, rest: { start_timeout: 2 } },
      code: 'HUB_SERVER_START_FAILED',
      message: /Usage: no-server <file>.*Check that it is an MCP server/s,
      output: undefined,
    },
    {
      fault: 'a server that takes too long',
      request: { source: { package: 'never-ready@1.0.0' }, rest: { start_timeout: 1 } },
      code: 'HUB_SERVER_START_FAILED',
      message: /Raise "start_timeout"/,
      output: undefined,
    },
  ];
  for (const { fault, request, code, message, output } of cases)
    test(fault, async () => {
      await using hub = createInstallHub();
      const failed = await failureOf(hub.install(request));
      assert.equal(failed.code, code, failed.message);
      assert.match(failed.message, message);
      assert.equal(failed.data['step'], 'trial');
      if (output) assert.match(String(failed.data['output']), output);
      assert.equal(hub.entries.size, 0);
      assert.deepEqual(leftOf(hub), []);
    });

  test('for an address that answers 401 the remedy is a key, and for one that answers 404 a path', async () => {
    await using hub = createInstallHub();
    await using closed = await answering(401, '{"error":"no key"}');
    await using elsewhere = await answering(404);
    const unauthorized = await failureOf(hub.install({ source: { package: closed.url } }));
    assert.match(
      unauthorized.message,
      /401.*"headers": \{"Authorization": "Bearer \$\{secret:NAME\}"\}/s,
    );
    const missing = await failureOf(hub.install({ source: { package: `${elsewhere.url}/mcp` } }));
    assert.match(missing.message, /404.*"transport": "sse"/s);
  });

  test('for an address with an untrusted certificate it names the setting', async () => {
    await using hub = createInstallHub();
    const [key, cert] = [join(hub.folder, 'key.pem'), join(hub.folder, 'cert.pem')];
    const made =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=127.0.0.1';
    execFileSync('openssl', [...made.split(' '), '-keyout', key, '-out', cert]);
    await using own = await answering(200, '', {
      key: readFileSync(key),
      cert: readFileSync(cert),
    });
    const failed = await failureOf(hub.install({ source: { package: own.url } }));
    assert.match(failed.message, /self-signed certificate.*NODE_EXTRA_CA_CERTS/s);
  });

  test('for an entry that the config does not accept it names the key', async () => {
    await using hub = createInstallHub();
    const failed = await failureOf(hub.install({ rest: { network: 'host' } }));
    assert.equal(failed.code, 'HUB_CONFIG_INVALID');
    assert.match(failed.message, /servers\.echo\.network.*"none", "bridge" or/s);
    assert.equal(failed.data['step'], 'validate');
  });
});

test('the definitions that an install has shown are pinned before the server starts, those of a trial are not', async () => {
  const pinned: string[] = [];
  await using hub = createInstallHub({
    pinning: {
      forget() {},
      preview: () => ({ pinning: 'warn' }),
      seen: ({ name }, { tool, instructions }) =>
        void pinned.push(`${name} ${tool.length > 0} ${instructions ?? ''}`),
    },
  });
  const { signal } = new AbortController();
  const entry = { package: 'echo@1.0.0' };
  await hub.installs.trial({ name: 'mine', entry, confirm: [] }, () => {}, signal);
  assert.deepEqual(pinned, []);
  const installed = await hub.install({ name: 'mine' });
  assert.deepEqual(installed['pinned'], { pinning: 'warn' });
  assert.deepEqual(pinned, ['mine true ']);
});

describe('a removal', () => {
  test('stops the server and removes its entry, and with purge its folder', async () => {
    await using hub = createInstallHub();
    await hub.install({});
    await hub.servers.get('echo')?.ready();
    const { removed, left } = await hub.installs.remove('echo', { purge: true });
    assert.deepEqual(left, []);
    assert.ok(Array.isArray(removed));
    assert.deepEqual(
      removed.map(one => isObject(one) && one['kind']),
      ['entry', 'instance', 'folder'],
    );
    assert.equal(hub.entries.size, 0);
    assert.deepEqual(leftOf(hub), []);
  });

  test('without purge keeps the data of the server', async () => {
    await using hub = createInstallHub();
    await hub.install({});
    const { removed } = await hub.installs.remove('echo', { purge: false });
    assert.deepEqual(removed, [{ kind: 'entry', name: 'echo' }]);
    assert.deepEqual(leftOf(hub), ['echo']);
  });

  test('with purge removes the folder of a server that is in the file and not yet applied', async () => {
    await using hub = createInstallHub();
    await hub.write('idle', { package: 'echo@1.0.0' });
    const name = join(hub.folder, 'servers', 'idle');
    mkdirSync(name, { recursive: true });
    const { removed, left } = await hub.installs.remove('idle', { purge: true });
    assert.deepEqual(removed, [
      { kind: 'entry', name: 'idle' },
      { kind: 'folder', name },
    ]);
    assert.deepEqual(left, []);
    assert.deepEqual(leftOf(hub), []);
  });

  test('works while the maximum of installs is in progress', async () => {
    await using hub = createInstallHub();
    await hub.install({});
    const names = ['a', 'b', 'c', 'd'];
    const installs = names.map(name =>
      failureOf(hub.install({ name, source: { package: 'never-ready@1.0.0' } })),
    );
    assert.equal((await failureOf(hub.install({ name: 'e' }))).code, 'HUB_INSTALLS_FULL');
    const { removed } = await hub.installs.remove('echo', { purge: true });
    assert.ok(Array.isArray(removed));
    assert.deepEqual(removed[0], { kind: 'entry', name: 'echo' });
    assert.equal((await failureOf(hub.install({ name: 'e' }))).code, 'HUB_INSTALLS_FULL');
    await hub.installs.stop();
    await Promise.all(installs);
  });

  test('of an unknown server is refused, and so is one of a server that is being removed', async () => {
    await using hub = createInstallHub();
    await hub.install({});
    const unknown = await failureOf(hub.installs.remove('nobody', { purge: false }));
    assert.equal(unknown.code, 'HUB_SERVER_UNKNOWN');
    const first = hub.installs.remove('echo', { purge: false });
    const second = await failureOf(hub.installs.remove('echo', { purge: false }));
    assert.equal(second.code, 'HUB_SERVER_EXISTS');
    await first;
  });
});

describe('a trial', () => {
  test('starts a server like an install, returns what it offers, and writes nothing', async () => {
    await using hub = createInstallHub();
    const { signal } = new AbortController();
    const tried = await hub.installs.trial(
      { name: 'mine', entry: { package: 'echo@1.0.0', auto_start: true }, confirm: [] },
      one => hub.progress.push(one),
      signal,
    );
    assert.equal(tried['package'], 'echo@1.0.0');
    assert.ok(isObject(tried['tools']) && Number(tried['tools']['count']) > 0);
    assert.deepEqual(
      [...new Set(hub.progress.map(({ step }) => step))],
      ['validate', 'resolve', 'build', 'trial'],
    );
    assert.deepEqual([hub.entries.size, leftOf(hub)], [0, []]);
  });

  test('without the confirmations is refused, and has the reason if a server does not start', async () => {
    await using hub = createInstallHub();
    const { signal } = new AbortController();
    const tryOne = (entry: JsonObject, confirm: readonly string[] = []) =>
      hub.installs.trial({ name: 'mine', entry, confirm }, () => {}, signal);
    const env = { A: '${GIVEN}' };
    const refused = await failureOf(tryOne({ package: 'echo@1.0.0', env }));
    assert.equal(refused.code, 'HUB_CONFIRMATION_NEEDED');
    await tryOne({ package: 'echo@1.0.0', env }, ['variable:GIVEN']);
    const failed = await failureOf(tryOne({ package: 'wants-a-key@1.0.0' }));
    assert.match(failed.message, /agenthub secret set EXAMPLE_API_KEY/);
  });
});
