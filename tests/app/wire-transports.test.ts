import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { clientTokensFile, openNamedClients } from '#access';
import { type ClientConfig, type ServerConfig, readSettings } from '#config';
import { createEmitter, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { configOf, createFixtureServers } from '#helpers/hub';
import type { Principal } from '#policy';
import { createRouter } from '#routing';
import { createBacklog } from '#store';
import { wireTransports } from '../../hub/app/wire-transports.ts';
import { createReplayBudget } from '../../hub/transports/event-stream.ts';
import { createHttpSession } from '../../hub/transports/http-session.ts';
import { plainClient } from '../access/scratch.ts';
import { modernHeaders, modernRequest } from '../transports/raw.ts';
import { createRecordingResponse, createScriptedSession } from '../transports/scripted-session.ts';

const clock = createManualClock();
const naming = { separator: '_', maxLength: 46 } as const;
const principal = (name: string): Principal => ({
  kind: name === 'cursor' ? 'client' : 'local',
  name,
  grants: { administer: false },
});
/** Server in a container with a network, which calls the hub through the engine's forwarder. */
const networked: ServerConfig = (() => {
  const config = configOf({ name: 'echo' });
  assert.ok(config.launch.kind === 'local');
  const { sandbox } = config.launch;
  return {
    ...config,
    launch: { ...config.launch, runtime: 'docker', sandbox: { ...sandbox, network: 'bridge' } },
  };
})();

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'agenthub-transports-'));
});
afterEach(() => rmSync(path, { recursive: true }));

type Run = {
  readonly token?: string;
  readonly ownerKey?: string;
  readonly listens?: boolean;
  /** Servers of the config, behind an engine that forwards their connections to this machine. */
  readonly exposed?: readonly ServerConfig[];
  readonly clients?: readonly ClientConfig[];
};

/** Starts one run of a hub on the folder. */
async function start({
  token,
  ownerKey = 'owner-key',
  listens = true,
  exposed = [],
  clients = [],
}: Run = {}) {
  const servers = createFixtureServers([{ name: 'echo' }, { name: 'notes' }], { log: silent });
  const current = { servers: exposed };
  const changed = createEmitter<void>();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const router = createRouter(
    { naming: () => naming, hubVersion: '0' },
    {
      servers,
      log: silent,
      clock,
      newId,
    },
  );
  let configured = clients;
  let refreshed = Promise.resolve();
  const named = await openNamedClients(
    { file: join(path, clientTokensFile), administration: 'on' },
    { config: () => ({ clients: configured }), clock, log: silent },
  );
  const transports = await wireTransports(
    { listens },
    {
      settings: readSettings(token === undefined ? {} : { ROUTER_TOKEN: token }),
      dataDir: { path, secret: Buffer.alloc(32), hubId: 'hub', ownerKey },
      clients: named,
      router,
      servers,
      source: { current, changed: changed.event },
      place: { auto: 'docker', dataDir: path },
      exposure: {
        forwarder: 'Docker Desktop',
        networked: undefined,
        changed: createEmitter<void>().event,
      },
      saving: { backlog: createBacklog(), listed: Promise.resolve() },
      system: { clock, log: silent, newId },
    },
  );
  await transports.saved.start(new AbortController().signal);
  return {
    ...transports,
    servers,
    apply(configs: readonly ServerConfig[]) {
      current.servers = configs;
      changed.fire();
    },
    /** Replaces the clients of the config. */
    configure(now: readonly ClientConfig[]): void {
      configured = now;
      refreshed = named.refresh();
    },
    async [Symbol.asyncDispose]() {
      await refreshed;
      await transports.drain();
      await transports.saved.stop();
      await servers.stopAll();
    },
  };
}

/** Saves a session in one run, and returns whether the next run finds it. */
async function outlives(name: string, before: Run, after: Run): Promise<boolean> {
  let id: string;
  {
    await using hub = await start(before);
    const client = { clientInfo: '{"name":"a"}', capabilities: '{}' };
    const sealed = { client, protocolVersion: '2025-11-25', openedAt: clock.now() };
    id = hub.saved.seal('all', principal(name), sealed) ?? assert.fail();
    const needs = { clock, budget: createReplayBudget(1024) };
    hub.saved.track(createHttpSession(id, 'all', () => createScriptedSession().session, needs));
  }
  await using next = await start(after);
  return next.saved.find(id, 'all', principal(name)) !== undefined;
}

const withToken = (digit: string) => plainClient('cursor', { tokenDigest: digit.repeat(64) });
const [a, b] = ['a'.repeat(16), 'b'.repeat(16)];

describe('a session outlives a restart of the hub', () => {
  test.each<readonly [what: string, name: string, before: Run, after: Run, expected: boolean]>([
    ['that changes nothing', 'local', {}, {}, true],
    ['that changes nothing, of the owner', 'owner', {}, {}, true],
    ['that changes nothing, of the token', 'token', { token: a }, { token: a }, true],
    ['with another owner key', 'owner', { ownerKey: 'x' }, { ownerKey: 'y' }, false],
    ['with another token', 'token', { token: a }, { token: b }, false],
    ['without the token', 'token', { token: a }, {}, false],
    ['with another token, of the owner', 'owner', { token: a }, { token: b }, true],
    [
      'that keeps the made token',
      'token',
      { exposed: [networked] },
      { exposed: [networked] },
      true,
    ],
    [
      'that keeps the token of the client',
      'cursor',
      { clients: [withToken('a')] },
      { clients: [withToken('a')] },
      true,
    ],
    [
      'with another token of the client',
      'cursor',
      { clients: [withToken('a')] },
      { clients: [withToken('b')] },
      false,
    ],
    ['that needs no made token any more', 'token', { exposed: [networked] }, {}, false],
  ])('%s (%s)', async (_what, name, before, after, expected) => {
    assert.equal(await outlives(name, before, after), expected);
  });
});

describe('a token for calls', () => {
  test.each<readonly [what: string, run: Run, isMade: boolean, isNeeded: boolean]>([
    ['is made where containers reach the hub', { exposed: [networked] }, true, true],
    ['waits for a server with a network', {}, true, false],
    ['is not made where ROUTER_TOKEN is set', { exposed: [networked], token: a }, false, false],
    ['is not made where nothing listens', { exposed: [networked], listens: false }, false, false],
  ])('%s', async (_what, run, isMade, isNeeded) => {
    await using hub = await start(run);
    assert.equal(hub.callToken !== undefined, isMade);
    assert.equal(hub.callToken?.current() !== undefined, isNeeded);
  });
});

describe('the connections', () => {
  /** Opens a connection to each endpoint. Returns a function that lists the endpoints whose connections have ended. */
  function connectAll({ connections, servers }: Awaited<ReturnType<typeof start>>) {
    const ended: string[] = [];
    for (const endpoint of ['all', servers.get('echo'), servers.get('notes')] as const)
      connections.open(endpoint, principal('local'), {
        write() {},
        unsentBytes: () => 0,
        close: () => void ended.push(endpoint === 'all' ? 'all' : endpoint.config.name),
        drop() {},
        keepAlive() {},
      });
    return async () => {
      // The last messages are sent at the end of this turn of the event loop.
      await new Promise(setImmediate);
      return ended;
    };
  }

  test('to a server end when it is removed; those to other servers stay', async () => {
    await using hub = await start();
    const ended = connectAll(hub);
    await hub.servers.apply({ servers: [configOf({ name: 'notes' })], naming });
    assert.deepEqual(await ended(), ['echo']);
  });

  test('of a client end with its token, at every endpoint; those of other clients stay', async () => {
    await using hub = await start({ clients: [withToken('a'), plainClient('vscode')] });
    const ended: string[] = [];
    const open = (endpoint: 'all' | 'echo', name: string) =>
      hub.connections.open(
        endpoint === 'all' ? 'all' : hub.servers.get(endpoint),
        { kind: name === 'local' ? 'local' : 'client', name, grants: { administer: false } },
        {
          write() {},
          unsentBytes: () => 0,
          close: reason => void ended.push(`${name} ${endpoint}: ${reason}`),
          drop() {},
          keepAlive() {},
        },
      );
    for (const name of ['cursor', 'vscode', 'local'])
      for (const endpoint of ['all', 'echo'] as const) open(endpoint, name);
    hub.configure([withToken('b'), plainClient('vscode')]);
    await new Promise(setImmediate);
    assert.deepEqual(ended, [
      'cursor all: the token of cursor was revoked',
      'cursor echo: the token of cursor was revoked',
    ]);
  });

  test('of a client get its new grants at once', async () => {
    await using hub = await start({ clients: [withToken('a')] });
    const client: Principal = { kind: 'client', name: 'cursor', grants: { administer: false } };
    const connection = hub.connections.open('all', client, {
      write() {},
      unsentBytes: () => 0,
      close() {},
      drop() {},
      keepAlive() {},
    });
    hub.configure([{ ...withToken('a'), administer: true }]);
    assert.equal(connection.principal.grants.administer, true);
  });

  test('that listen without a session and without a token end too, when calls need one', async () => {
    await using hub = await start();
    const listen = (caller: Principal) => {
      const { response, text, isOver } = createRecordingResponse();
      const method = 'subscriptions/listen';
      const params = { notifications: { toolsListChanged: true } };
      const body = Buffer.from(JSON.stringify(modernRequest(1, method, params)));
      const incoming = { method: 'POST', headers: modernHeaders(method) };
      hub.streamable.handle(incoming, response, body, 'all', caller);
      return { text, isOver };
    };
    const [open, owner] = [listen(principal('local')), listen(principal('owner'))];
    await new Promise(setImmediate);
    assert.match(open.text(), /acknowledged/);
    hub.apply([networked]);
    await new Promise(setImmediate);
    assert.deepEqual([open.isOver(), owner.isOver()], [true, false]);
  });

  test('all end when a new config makes calls need a token', async () => {
    await using hub = await start();
    const ended = connectAll(hub);
    hub.apply([]);
    assert.deepEqual(await ended(), []);
    hub.apply([networked]);
    assert.deepEqual(await ended(), ['all', 'echo', 'notes']);
  });
});
