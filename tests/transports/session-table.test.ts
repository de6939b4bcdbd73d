import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createFixtureServers } from '#helpers/hub';
import { caller } from '#helpers/principal';
import type { Principal } from '#policy';
import type { EarlierSession, Endpoint } from '#routing';
import { readRequest } from '../../hub/transports/http-message.ts';
import {
  type SessionTableOptions,
  createSessionTable,
} from '../../hub/transports/session-table.ts';
import {
  createDisk,
  createRecordingResponse,
  createScriptedSession,
  openSaved,
} from './scripted-session.ts';

const idleMs = 60_000;
const eve: Principal = { kind: 'client', name: 'eve', grants: { administer: false } };

type OpenOptions = Partial<SessionTableOptions> & {
  readonly clock?: ReturnType<typeof createManualClock>;
  readonly saved?: Awaited<ReturnType<typeof openSaved>>;
};

function openTable({ clock = createManualClock(), saved, ...options }: OpenOptions = {}) {
  const opened: {
    readonly endpoint: Endpoint;
    readonly earlier: EarlierSession | undefined;
    readonly isConnected: () => boolean;
    readonly closed: readonly string[];
  }[] = [];
  let ids = 0;
  const table = createSessionTable(
    { idleMs, maxSessions: 100, ...options },
    {
      clock,
      router: {
        open(endpoint, principal, _send, options) {
          const { session, closed } = createScriptedSession();
          const isConnected = () => options?.isConnected?.() === true;
          opened.push({ endpoint, earlier: options?.earlier, isConnected, closed });
          return { ...session, principal };
        },
      },
      newId: () => `session-${++ids}`,
      ...(saved && { saved }),
    },
  );
  const requestOf = (
    endpoint: Endpoint,
    headers: Readonly<Record<string, string>> = {},
    principal: Principal = caller,
  ) =>
    readRequest(
      { method: 'POST', headers },
      createRecordingResponse().response,
      endpoint,
      principal,
    );
  return {
    clock,
    table,
    opened,
    requestOf,
    /** Opens a session, 10 ms after the last one. */
    open: (
      name = 'client',
      endpoint: Endpoint = 'all',
      headers?: Readonly<Record<string, string>>,
      principal?: Principal,
    ) => {
      clock.advance(10);
      return table.open(requestOf(endpoint, headers, principal), sealedOf(name));
    },
  };
}

const sealedOf = (name: string) => ({
  client: { clientInfo: JSON.stringify({ version: '1', name }), capabilities: '{}' },
  protocolVersion: '2025-11-25',
  openedAt: 1,
});

describe('above the maximum', () => {
  test('the session that was not used after its initialize is dropped first, however new', () => {
    const { table, open } = openTable({ maxSessions: 2 });
    const used = open();
    table.find(used.id);
    const fresh = open('other');
    open('third');
    assert.deepEqual([table.find(used.id), table.find(fresh.id)], [used, undefined]);
  });

  test('of used sessions the one idle longest is dropped, of the client with the most', () => {
    const { table, open, clock } = openTable({ maxSessions: 3 });
    const [modest, first, second] = [open('modest'), open('greedy'), open('greedy')];
    for (const { id } of [modest, first, second]) table.find(id);
    clock.advance(10);
    table.use(first);
    table.release(first);
    open('third');
    assert.deepEqual(
      [modest, first, second].map(({ id }) => table.find(id)),
      [modest, first, undefined],
    );
  });

  test('a principal with the most sessions loses one, whatever client names it uses', () => {
    const { table, open } = openTable({ maxSessions: 5 });
    const sessions = [open('modest'), open('modest')];
    for (const name of ['a', 'b', 'c']) sessions.push(open(name, 'all', {}, eve));
    for (const { id } of sessions) table.find(id);
    open('d', 'all', {}, eve);
    assert.deepEqual(
      sessions.map(({ id }) => table.find(id) !== undefined),
      [true, true, false, true, true],
    );
  });

  test('a session in use stays: if the client with most has no idle one, another client loses its own', () => {
    const { table, open } = openTable({ maxSessions: 3 });
    const [idle, ...busy] = [open('modest'), open('greedy'), open('greedy')];
    for (const http of [idle, ...busy]) table.find(http.id);
    for (const http of busy) table.use(http);
    open('third');
    assert.deepEqual([table.find(idle.id), table.size], [undefined, 3]);
  });

  test('a principal with the most sessions ends none of others when its own are in use', () => {
    const { table, open } = openTable({ maxSessions: 4 });
    const modest = open('modest');
    const own = ['a', 'b', 'c'].map(name => open(name, 'all', {}, eve));
    for (const { id } of [modest, ...own]) table.find(id);
    for (const http of own) table.use(http);
    assert.throws(() => open('d', 'all', {}, eve), {
      code: 'HUB_SESSIONS_FULL',
      message: /^4 sessions are open, and all of this caller are in use/,
    });
    assert.equal(table.find(modest.id), modest);
    for (const http of own.slice(1)) table.release(http);
    open('d', 'all', {}, eve);
    assert.deepEqual(
      [modest, ...own].map(({ id }) => table.find(id) !== undefined),
      [true, true, false, true],
    );
  });

  test('a new one is refused with a retry if all are in use', () => {
    const { table, open, opened } = openTable({ maxSessions: 2 });
    const sessions = [open(), open('other')];
    for (const http of sessions) table.use(http);
    assert.throws(() => open('third'), {
      code: 'HUB_SESSIONS_FULL',
      message: '2 sessions are open and all in use. Try again later',
    });
    assert.deepEqual([table.size, opened.length], [2, 2]);
    for (const http of sessions) table.release(http);
    assert.ok(open('third'));
  });
});

describe('a client with its share of sessions', () => {
  test('loses its own idle session', () => {
    const { table, open, opened } = openTable({ maxSessionsPerClient: 2 });
    const other = open('other');
    const own = [open(), open(), open()];
    assert.deepEqual(
      [other, ...own].map(({ id }) => table.find(id) !== undefined),
      [true, false, true, true],
    );
    assert.deepEqual(opened[1]?.closed, ['too many sessions']);
  });

  test('is refused if all its own are in use, though others are idle', () => {
    const { table, open } = openTable({ maxSessionsPerClient: 2 });
    open('other');
    for (const http of [open(), open()]) table.use(http);
    assert.throws(() => open(), {
      code: 'HUB_SESSIONS_FULL',
      message:
        '2 sessions of this client are open and all in use. End some, or raise MAX_SESSIONS_PER_CLIENT',
    });
    assert.ok(open('other'));
  });

  test('has room again when one of them has ended', () => {
    const { table, open } = openTable({ maxSessionsPerClient: 1 });
    const first = open();
    table.use(first);
    void table.end(first, 'ended by the client');
    assert.ok(open());
  });

  test.each<readonly [what: string, headers: Readonly<Record<string, string>>, name: string]>([
    ['its name', {}, 'other'],
    ['its program', { 'user-agent': 'curl' }, 'client'],
  ])('is distinguished from another by %s', (_what, headers, name) => {
    const { table, open } = openTable({ maxSessionsPerClient: 1 });
    const first = open();
    open(name, 'all', headers);
    assert.equal(table.size, 2);
    open();
    assert.equal(table.find(first.id), undefined);
  });
});

test('a client loses no session to another principal that uses its name', () => {
  const { table, open } = openTable({ maxSessionsPerClient: 1 });
  const own = open();
  for (let count = 0; count < 3; count++) open('client', 'all', {}, eve);
  assert.deepEqual([table.find(own.id), table.size], [own, 2]);
});

test('a client has one share, however its credentials are sent', () => {
  const { table, open } = openTable({ maxSessionsPerClient: 1 });
  for (const authorization of ['Bearer token', 'bearer token', 'BEARER  token'])
    open('client', 'all', { authorization });
  assert.equal(table.size, 1);
});

describe('an idle session', () => {
  test('ends after its time, counted from the end of its last use', () => {
    const { table, open, opened, clock } = openTable();
    const http = open();
    table.use(http);
    assert.equal(opened[0]?.isConnected(), true);
    clock.advance(10 * idleMs);
    table.expire();
    assert.equal(table.size, 1);
    table.release(http);
    assert.equal(opened[0]?.isConnected(), false);
    clock.advance(idleMs);
    table.expire();
    assert.equal(table.size, 1);
    clock.advance(1);
    table.expire();
    assert.deepEqual([table.size, opened[0]?.closed], [0, ['the session was idle']]);
  });
});

test('the end of an endpoint ends its sessions only', async () => {
  await using servers = createFixtureServers([{ name: 'echo' }, { name: 'notes' }], {
    log: silent,
  });
  const { table, open, opened } = openTable();
  for (const endpoint of ['all', servers.get('echo'), servers.get('notes')] as const)
    open('client', endpoint);
  table.endAll('its server was removed', servers.get('echo'));
  assert.deepEqual(
    opened.map(({ closed }) => closed),
    [[], ['its server was removed'], []],
  );
  table.endAll('a token is needed', 'all');
  assert.equal(table.size, 1);
  table.endAll('the hub stops');
  assert.equal(table.size, 0);
});

describe('a session of an earlier run', () => {
  /** Saves a session in one run, and opens the table of the next run. */
  async function restart(endpoint: Endpoint = 'all', options: OpenOptions = {}) {
    const clock = createManualClock();
    const disk = createDisk();
    const listed = Promise.withResolvers<void>();
    const first = openTable({ clock, saved: await openSaved(disk, { clock, idleMs }) });
    const http = first.open('client', endpoint);
    first.table.use(http);
    first.table.release(http);
    clock.advance(100);
    const saved = await openSaved(disk, { clock, idleMs, listed: listed.promise });
    return { ...openTable({ clock, saved, ...options }), id: http.id, listed };
  }

  test('is resumed under its id with the information of its client', async () => {
    const { table, opened, requestOf, id } = await restart();
    const http = table.resume(id, requestOf('all'));
    assert.deepEqual([http?.id, table.find(id)], [id, http]);
    assert.equal(opened[0]?.earlier?.client.clientInfo, '{"version":"1","name":"client"}');
    assert.equal(http?.isUsed, true);
  });

  test('waits on the endpoint of all servers until these have listed their items', async () => {
    const { table, requestOf, id, listed } = await restart();
    const http = table.resume(id, requestOf('all'));
    assert.notEqual(http?.ready, undefined);
    listed.resolve();
    await http?.ready;
    assert.equal(http?.ready, undefined);
  });

  test('does not wait on the endpoint of one server', async () => {
    await using servers = createFixtureServers([{ name: 'echo' }], { log: silent });
    const echo = servers.get('echo');
    const { table, requestOf, id } = await restart(echo);
    assert.equal(table.resume(id, requestOf('all')), undefined);
    const http = table.resume(id, requestOf(echo));
    assert.deepEqual([http?.id, http?.ready], [id, undefined]);
  });

  test('counts in the share of its client', async () => {
    const { table, open, requestOf, id } = await restart('all', { maxSessionsPerClient: 1 });
    const own = open();
    table.use(own);
    assert.throws(() => table.resume(id, requestOf('all')), { code: 'HUB_SESSIONS_FULL' });
    table.release(own);
    assert.ok(table.resume(id, requestOf('all')));
    assert.deepEqual([table.find(own.id), table.size], [undefined, 1]);
  });

  test('is unknown after its end, and if sessions are not saved', async () => {
    const { table, requestOf, id } = await restart();
    const http = table.resume(id, requestOf('all')) ?? assert.fail();
    await table.end(http, 'ended by the client');
    assert.equal(table.resume(id, requestOf('all')), undefined);
    assert.equal(openTable().table.resume(id, requestOf('all')), undefined);
  });

  test('is unknown when its server was removed before its client returned', async () => {
    await using servers = createFixtureServers([{ name: 'echo' }], { log: silent });
    const echo = servers.get('echo');
    const { table, requestOf, id } = await restart(echo);
    table.endAll('its server was removed', echo);
    assert.equal(table.resume(id, requestOf(echo)), undefined);
  });
});
