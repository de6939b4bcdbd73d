import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { type Socket, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, test } from 'vitest';
import { type AuditOptions, createAudit } from '#audit';
import { silent, systemClock } from '#core';
import { startHub, until } from '#helpers/hub';
import { createSocketTables } from '../../hub/http/peers.ts';
import { openSession, send } from '../transports/raw.ts';

const { getuid } = process;
const isLinux = process.platform === 'linux';
const uid = getuid?.() ?? 0;
const tables = createSocketTables();
/** True if tests can start a process of another user, which needs root. */
const canSwitch = isLinux && uid === 0;
const other = 65_534;

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  },
};

/** Program that calls the hub over every transport, and writes the outcomes as JSON. */
const caller = `
const [url, authorization] = process.argv.slice(1);
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  ...(authorization && { authorization }),
};
const body = ${JSON.stringify(JSON.stringify(initialize))};
const statusOf = async (path, init) => {
  const response = await fetch(url + path, { headers, ...init });
  await response.body.cancel();
  return response.status;
};
const socket = new WebSocket(url.replace('http', 'ws') + '/mcp');
const upgrade = await new Promise(resolve => {
  socket.onopen = () => resolve(101);
  socket.onerror = () => resolve('refused');
});
console.log(JSON.stringify({
  post: await statusOf('/mcp', { method: 'POST', body }),
  view: await statusOf('/servers'),
  page: await statusOf('/dashboard'),
  stream: await statusOf('/sse'),
  upgrade,
  said: await (await fetch(url + '/health', { headers })).text(),
}));
process.exit();
`;

const run = (script: string, as: number, ...given: readonly string[]): ChildProcess =>
  spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...given], {
    uid: as,
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });

async function callAs(as: number, ...given: readonly string[]) {
  const { stdout } = run(caller, as, ...given);
  const { said, ...statuses } = JSON.parse(await text(stdout ?? assert.fail()));
  return { said: String(said), statuses };
}

const served = { post: 200, view: 200, page: 200, stream: 200, upgrade: 101 };
const refused = { post: 403, view: 403, page: 403, stream: 403, upgrade: 'refused' };

describe.skipIf(!isLinux)('on loopback', () => {
  test.skipIf(!canSwitch)(
    'another user is refused in every way, with the advice to set ROUTER_TOKEN',
    async () => {
      await using hub = await startHub([], { peers: { tables, uid } });
      const { said, statuses } = await callAs(other, hub.url);
      assert.deepEqual(statuses, refused);
      assert.match(said, /opened by user 65534 and the hub runs as user 0.*ROUTER_TOKEN/);
      assert.equal(hub.streamable.sessionCount + hub.connections.size, 0);
    },
  );

  test('the same user is admitted in every way', async () => {
    await using hub = await startHub([], { peers: { tables, uid } });
    assert.deepEqual((await callAs(uid, hub.url)).statuses, served);
  });

  test.skipIf(!canSwitch)("another user with the owner's key is admitted", async () => {
    await using hub = await startHub([], { http: { ownerKey: 'key' }, peers: { tables, uid } });
    const { statuses } = await callAs(other, hub.url, 'Bearer key');
    // Node's WebSocket, like that of browsers, cannot send the owner's key.
    assert.deepEqual(statuses, { ...served, upgrade: 'refused' });
  });

  test('users are also distinguished by IPv6 and on a dual-stack socket', async () => {
    await using hub = await startHub([], {
      http: { host: 'localhost' },
      peers: { tables, uid: uid + 1 },
    });
    const { port } = new URL(hub.url);
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]'])
      try {
        const response = await send(`http://${host}:${port}/health`, {
          headers: { host: 'localhost' },
        });
        assert.equal(response.status, 403, host);
        assert.match(await response.body(), /opened by user/);
      } catch (error) {
        // The machine has no IPv6.
        if (!(error instanceof Error) || host === '127.0.0.1') throw error;
        assert.match(error.message, /ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH|EAFNOSUPPORT/);
      }
  });

  test('a client that has exited does not count as root', async () => {
    const exited = Promise.withResolvers<void>();
    let looked = 0;
    const late = createSocketTables(async function* (table) {
      looked++;
      await exited.promise;
      yield await readFile(`/proc/net/${table}`, 'latin1');
    });
    await using hub = await startHub([], { peers: { tables: late, uid: 0 } });
    const body = JSON.stringify(initialize);
    const script = `
      import { connect } from 'node:net';
      const { hostname: host, port } = new URL(process.argv[1]);
      const socket = connect({ host, port }, () => {
        socket.write(process.argv[2], () => process.exit());
      });
    `;
    const request = [
      'POST /mcp HTTP/1.1',
      'host: localhost',
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
    await once(run(script, uid, hub.url, request), 'exit');
    await until(() => looked > 0);
    exited.resolve();
    await until(() => hub.logged.some(({ message }) => message.includes('is gone')));
    assert.equal(hub.streamable.sessionCount, 0);
  });

  /** Starts a hub with one connection allowed, whose user the hub learns only when `tell` is called. */
  async function startLate() {
    const told = Promise.withResolvers<void>();
    let looked = 0;
    const late = createSocketTables(async function* (table) {
      looked++;
      await told.promise;
      yield await readFile(`/proc/net/${table}`, 'latin1');
    });
    const hub = await startHub([], {
      http: { maxConnections: 1 },
      peers: { tables: late, uid },
    });
    const health = async () => (await send(`${hub.url}/health`)).status;
    const { hostname, port } = new URL(hub.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    await until(() => looked > 0);
    assert.equal(await health(), 503, 'the one connection counts');
    return {
      socket,
      health,
      tell: () => told.resolve(),
      [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
    };
  }

  for (const [how, leave] of [
    ['leaves', (socket: Socket) => once(socket.destroy(), 'close')],
    ['ends its side', (socket: Socket) => once(socket.end(), 'finish')],
  ] as const)
    test(`a client that ${how} meanwhile occupies no connection`, async () => {
      await using hub = await startLate();
      await leave(hub.socket);
      // The hub reads the end of the first connection before this request.
      await hub.health();
      hub.tell();
      assert.equal(await hub.health(), 200);
      hub.socket.destroy();
    });

  test('a client that closed its connection before the look-up is refused without a line in the audit log', async () => {
    const told = Promise.withResolvers<void>();
    let looked = 0;
    const late = createSocketTables(async function* (table) {
      looked++;
      await told.promise;
      yield await readFile(`/proc/net/${table}`, 'latin1');
    });
    const refusals: unknown[] = [];
    const off: AuditOptions = {
      enabled: false,
      maxBytes: 2 ** 20,
      maxAgeMs: 86_400_000,
      keep: 1,
      onFailure: 'continue',
    };
    await using folder = await mkdtempDisposable(`${tmpdir()}/agenthub-peers-`);
    const audit = createAudit(folder.path, () => off, {
      clock: systemClock,
      log: silent,
      hubVersion: '1.2.3',
      syncFolder: async () => {},
      redaction: { text: text => text, json: value => value },
    });
    await using hub = await startHub([], {
      peers: { tables: late, uid },
      audit: { ...audit, recordRefusal: refusal => void refusals.push(refusal) },
    });
    const { hostname, port } = new URL(hub.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => looked > 0);
    await once(socket.destroy(), 'close');
    told.resolve();
    await until(() => hub.logged.some(({ message }) => message.includes('is gone')));
    assert.deepEqual(refusals, []);
  });

  test('connections that wait for the look-up are closed when the hub stops', async () => {
    let looked = 0;
    const never = createSocketTables(async function* () {
      looked++;
      yield await new Promise<string>(() => {});
    });
    const hub = await startHub([], { peers: { tables: never, uid } });
    const lost = assert.rejects(send(`${hub.url}/health`), /ECONNRESET|socket hang up/);
    await until(() => looked > 0);
    await hub[Symbol.asyncDispose]();
    await lost;
  });

  test('a hub that cannot look up the user refuses the call, with the reason', async () => {
    const broken = createSocketTables(async function* () {
      yield await Promise.reject<string>(new Error('EACCES'));
    });
    await using hub = await startHub([], { peers: { tables: broken, uid } });
    const response = await send(`${hub.url}/health`);
    assert.equal(response.status, 403);
    assert.match(await response.body(), /cannot tell which user.*EACCES.*ROUTER_TOKEN/);
  });

  test('a hub with a token requires only the token', async () => {
    await using hub = await startHub([], {
      http: { token: 'secret' },
      peers: { tables, uid: uid + 1 },
    });
    const authorization = 'Bearer secret';
    assert.equal((await send(`${hub.url}/health`, { headers: { authorization } })).status, 200);
  });
});

test('without socket tables, users are not distinguished', async () => {
  await using hub = await startHub([]);
  const session = await openSession(`${hub.url}/mcp`);
  assert.equal((await session.end()).status, 204);
});
