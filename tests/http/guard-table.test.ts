import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest';
import { digestOf } from '#access';
import { type HubOptions, type TestHub, startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import type { Observer } from '#routing';
import { createSocketTables } from '../../hub/http/peers.ts';
import { openScratchClients, plainClient } from '../access/scratch.ts';
import { startToolServer } from '../doubles/tool-server.ts';
import { openSession, send } from '../transports/raw.ts';

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'table', version: '1' },
  },
});
const held = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'hold', arguments: {} },
});

/** Time in which the hub, in this process, reads the bytes that follow a pending call, in ms. */
const readMs = 20;

/** Request that reaches one of the hub's readers of requests. The first word of `first` is the method. */
type Reader = {
  readonly first: string;
  readonly headers: readonly string[];
  readonly body?: string;
  /** Status of the response if the request is admitted. */
  readonly status: number;
  /** Status of the response if the request is admitted while an earlier one is pending. Default: `status`. */
  readonly pipelined?: number;
  /** Sends `initialize` to the session that the request opened; absent if the request is itself an `initialize`. */
  readonly initialize?: (connection: Connection, hub: TestHub, said: Said) => Promise<unknown>;
};

const json = 'content-type: application/json';
const accept = 'accept: application/json, text/event-stream';

const readers: Readonly<Record<string, Reader>> = {
  'the plain posts': {
    first: 'POST /mcp HTTP/1.1',
    headers: [json, accept],
    body: initialize,
    status: 200,
  },
  "the short way of Node's HTTP": {
    first: 'POST /mcp HTTP/1.1',
    headers: [json, accept, 'te: trailers'],
    body: initialize,
    status: 200,
  },
  'a route': {
    first: 'POST /mcp HTTP/1.1',
    headers: [`${json}; charset=utf-8`, accept],
    body: initialize,
    status: 200,
  },
  'an upgrade': {
    first: 'GET /mcp HTTP/1.1',
    headers: [
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ],
    status: 101,
    // Without an upgrade, the request is a plain GET of /mcp.
    pipelined: 400,
    initialize: async ({ socket }) => socket.write(frameOf(initialize)),
  },
  'a stream': {
    first: 'GET /sse HTTP/1.1',
    headers: ['accept: text/event-stream'],
    status: 200,
    async initialize(connection, hub, said) {
      const endpoint = await connection.find(/^data: (\S+)/m);
      const headers = { 'content-type': 'application/json', ...headersOf(said) };
      await send(`${hub.url}${endpoint}`, { method: 'POST', headers, body: initialize });
    },
  },
};

/** Headers of a request in addition to those that its reader needs. */
type Said = { readonly hosts: readonly string[]; readonly headers: readonly string[] };

const own: Said = { hosts: ['localhost'], headers: [] };
const withToken: Said = { ...own, headers: ['authorization: Bearer secret'] };
const withKey: Said = { ...own, headers: ['authorization: Bearer key'] };
const loggedIn: Said = { ...own, headers: ['cookie: in'] };

const local: Principal = { kind: 'local', name: 'local', grants: { administer: false } };
const tokenHolder: Principal = { kind: 'local', name: 'token', grants: { administer: false } };
const owner: Principal = { kind: 'local', name: 'owner', grants: { administer: true } };

type Row = {
  /** Status of the refusal; undefined if the request is admitted. */
  readonly status: number | undefined;
  /** Principal of the good request, and of the other request if that is admitted. */
  readonly principal: Principal;
  readonly hub: HubOptions;
  readonly good: Said;
  readonly bad: Said;
  /** Path of the refused request, if it differs from that of the reader. */
  readonly path?: { readonly GET: string; readonly POST: string };
  /** Runs between the good and the refused request. */
  readonly between?: () => void;
  readonly reset?: () => void;
  /** True if `between` ends the sessions of the principal. */
  readonly endsSessions?: boolean;
  /** True if the row sends wrong tokens, whose senders the hub slows down: then each reader gets its own hub. */
  readonly isSlowed?: boolean;
};

const token: HubOptions = { http: { token: 'secret', ownerKey: 'key' } };
const login: HubOptions['guard'] = { isLoggedIn: ({ cookie }) => cookie === 'in' };
let callToken: string | undefined;

const digestIn = (text: string) => digestOf(text).toString('hex');
const scratch = await openScratchClients();
/** Resolves when the last change of the tokens is written to the scratch folder. */
let refreshed: Promise<void> | undefined;
/** Answers the pending call of the tool `hold`. */
let release = () => {};
/** The server behind the hubs of all rows. */
const holding = await startToolServer({
  hold: () =>
    new Promise<object>(resolve => {
      release = () => resolve({ content: [] });
    }),
});
afterAll(async () => {
  await refreshed;
  await scratch[Symbol.asyncDispose]();
  await holding.stop();
});
const configured = {
  clients: [
    plainClient('cursor', { tokenDigest: digestIn('cursor-token') }),
    plainClient('admin', { tokenDigest: digestIn('admin-token'), administer: true }),
  ],
};
scratch.set(configured);
const clients = await scratch.open();
/** Replaces the config. Tokens that it no longer contains are revoked at once. */
function configure(config: Parameters<typeof scratch.set>[0]): void {
  scratch.set(config);
  refreshed = clients.refresh();
}
const byName: HubOptions = { guard: { clients }, http: { ownerKey: 'key' } };
const asCursor: Said = { ...own, headers: ['authorization: Bearer cursor-token'] };
const asAdmin: Said = { ...own, headers: ['authorization: Bearer admin-token'] };
const withWrong: Said = { ...own, headers: ['authorization: Bearer other'] };
const named = (name: string, administer = false): Principal => ({
  kind: 'client',
  name,
  grants: { administer },
});
const required = { ...configured, tokens: 'required' } as const;

const rows: Readonly<Record<string, Row>> = {
  'the token': {
    status: undefined,
    principal: tokenHolder,
    hub: token,
    good: withToken,
    bad: withToken,
  },
  "the owner's key": {
    status: undefined,
    principal: owner,
    hub: token,
    good: withKey,
    bad: withKey,
  },
  'a login': {
    status: undefined,
    principal: owner,
    hub: { ...token, guard: login },
    good: loggedIn,
    bad: loggedIn,
  },
  'no token where calls need none': {
    status: undefined,
    principal: local,
    hub: {},
    good: own,
    bad: own,
  },
  'the made token': {
    status: undefined,
    principal: tokenHolder,
    hub: { guard: { callToken: () => ({ token: 'secret', why: 'so' }) } },
    good: withToken,
    bad: withToken,
  },
  'no token': { status: 401, principal: tokenHolder, hub: token, good: withToken, bad: own },
  'a wrong token': {
    status: 401,
    principal: tokenHolder,
    hub: token,
    good: withToken,
    bad: withWrong,
    isSlowed: true,
  },
  'a foreign Host': {
    status: 403,
    principal: local,
    hub: {},
    good: own,
    bad: { ...own, hosts: ['evil.example'] },
  },
  'two Hosts': {
    status: 400,
    principal: local,
    hub: {},
    good: own,
    bad: { ...own, hosts: ['localhost', 'evil.example'] },
  },
  'two equal Hosts': {
    status: 400,
    principal: local,
    hub: {},
    good: own,
    bad: { ...own, hosts: ['localhost', 'localhost'] },
  },
  'a foreign Origin': {
    status: 403,
    principal: local,
    hub: {},
    good: own,
    bad: { ...own, headers: ['origin: http://localhost:3000'] },
  },
  'a foreign Sec-Fetch-Site': {
    status: 403,
    principal: local,
    hub: {},
    good: own,
    bad: { ...own, headers: ['sec-fetch-site: same-site'] },
  },
  'administration without the key': {
    status: 401,
    principal: tokenHolder,
    hub: token,
    good: withToken,
    bad: withToken,
    path: { POST: '/config/reload', GET: '/servers/echo/logs' },
  },
  'another user': {
    status: 403,
    principal: owner,
    hub: {
      http: { ownerKey: 'secret' },
      peers: { tables: createSocketTables(), uid: (process.getuid?.() ?? 0) + 1 },
    },
    good: withToken,
    bad: own,
  },
  'a token revoked meanwhile': {
    status: 401,
    principal: tokenHolder,
    hub: {
      guard: {
        callToken: () => (callToken === undefined ? undefined : { token: callToken, why: 'so' }),
      },
    },
    good: withToken,
    bad: withToken,
    reset: () => (callToken = 'secret'),
    between: () => (callToken = 'another'),
    isSlowed: true,
  },
  'the token of a client': {
    status: undefined,
    principal: named('cursor'),
    hub: byName,
    good: asCursor,
    bad: asCursor,
    reset: () => configure(configured),
  },
  'the token of a client beside ROUTER_TOKEN': {
    status: undefined,
    principal: named('cursor'),
    hub: { guard: { clients }, http: { token: 'secret' } },
    good: asCursor,
    bad: asCursor,
    reset: () => configure(configured),
  },
  'the token of a client that administers': {
    status: undefined,
    principal: named('admin', true),
    hub: byName,
    good: asAdmin,
    bad: asAdmin,
    reset: () => configure(configured),
  },
  'the token of a client where tokens are required': {
    status: undefined,
    principal: named('cursor'),
    hub: byName,
    good: asCursor,
    bad: asCursor,
    reset: () => configure(required),
  },
  'no token where there are clients': {
    status: undefined,
    principal: local,
    hub: byName,
    good: own,
    bad: own,
    reset: () => configure(configured),
  },
  'an unknown token where calls are open': {
    status: undefined,
    principal: local,
    hub: byName,
    good: withWrong,
    bad: withWrong,
    reset: () => configure(configured),
  },
  'no token where tokens are required': {
    status: 401,
    principal: named('cursor'),
    hub: byName,
    good: asCursor,
    bad: own,
    reset: () => configure(required),
  },
  'an unknown token where tokens are required': {
    status: 401,
    principal: named('cursor'),
    hub: byName,
    good: asCursor,
    bad: withWrong,
    reset: () => configure(required),
    isSlowed: true,
  },
  'administration by a client that may not': {
    status: 401,
    principal: named('cursor'),
    hub: byName,
    good: asCursor,
    bad: asCursor,
    path: { POST: '/config/reload', GET: '/servers/echo/logs' },
    reset: () => configure(configured),
  },
  'the token of a client, revoked meanwhile,': {
    status: 401,
    principal: named('cursor'),
    hub: byName,
    good: asCursor,
    bad: asCursor,
    reset: () => configure(configured),
    between: () => configure({ clients: [] }),
    endsSessions: true,
    isSlowed: true,
  },
};

const needsLinux = new Set(['another user']);

/** Returns the bytes of a request. */
function bytesOf({ first, headers, body = '' }: Reader, { hosts, headers: more }: Said): string {
  const lines = [first, ...hosts.map(host => `host: ${host}`), ...headers, ...more];
  if (body) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return [...lines, '', body].join('\r\n');
}

/** Returns a WebSocket frame with a mask of zero (RFC 6455, section 5.2). */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, 0x80 | 126, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

type Connection = Awaited<ReturnType<typeof open>>;

/** Opens a connection, and collects the statuses of the responses on it. */
async function open(hub: TestHub) {
  const { hostname, port } = new URL(hub.url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1'))).on('error', () => {});
  await once(socket, 'connect');
  const statuses = () =>
    Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
  return {
    socket,
    /** Waits for a match of the pattern in the responses. Returns its first group. */
    async find(pattern: RegExp): Promise<string> {
      await until(() => pattern.test(text));
      return pattern.exec(text)?.[1] ?? assert.fail(text);
    },
    /** Returns the statuses of all responses, once there are at least `count`. */
    async answers(count: number) {
      await until(
        () => statuses().length >= count,
        () => text,
      );
      return statuses();
    },
  };
}

for (const [what, row] of Object.entries(rows))
  describe.skipIf(needsLinux.has(what) && process.platform !== 'linux')(`${what}, read by`, () => {
    let hub: TestHub;
    /** Principals of the requests that were answered. */
    const served: Principal[] = [];
    const [before, after] = row.isSlowed ? [beforeEach, afterEach] : [beforeAll, afterAll];
    before(async () => {
      row.reset?.();
      const observer: Observer = ({ principal }) => void served.push(principal);
      hub = await startHub([{ name: 'echo', url: holding.url, era: 'legacy' }], {
        ...row.hub,
        observer,
      });
    });
    after(() => hub[Symbol.asyncDispose]());

    for (const [name, reader] of Object.entries(readers)) {
      const { first, status } = reader;
      const [method = '', path = ''] = first.split(' ');
      const target = row.path?.[method === 'GET' ? 'GET' : 'POST'] ?? path;
      const bad = bytesOf({ ...reader, first: `${method} ${target} HTTP/1.1` }, row.bad);
      const post = readers['the plain posts'] ?? assert.fail();
      const good = bytesOf(post, row.good);
      const expected = row.status ?? status;

      test(`${name} is ${row.status ?? 'admitted'}: alone, pipelined, behind a call in flight and on a reused connection`, async () => {
        const open1 = async () => {
          row.reset?.();
          return await open(hub);
        };
        /** Fails if any request but the good one has left a session. */
        const settled = (sessions: number, before: number) => {
          const open = hub.streamable.sessionCount + hub.connections.size;
          assert.equal(open, row.endsSessions ? 0 : before + sessions);
        };
        /** Fails unless exactly `requests` requests were served, all of them of the row's principal. */
        const servedOnly = async (requests: number, how: string) => {
          await until(() => served.length >= requests);
          assert.deepEqual(served.splice(0), Array(requests).fill(row.principal), how);
        };
        /** Sends `initialize` if the admitted request opened a session without it. */
        const introduce = async (connection: Connection) => {
          if (row.status === undefined) await reader.initialize?.(connection, hub, row.bad);
        };
        const count = () => hub.streamable.sessionCount + hub.connections.size;
        const opens = row.status === undefined ? 1 : 0;

        served.length = 0;
        const alone = await open1();
        let before = count();
        row.between?.();
        alone.socket.write(bad);
        assert.deepEqual(await alone.answers(1), [expected], 'alone');
        settled(opens, before);
        await introduce(alone);
        await servedOnly(opens, 'alone');
        alone.socket.destroy();

        if (!row.between) {
          const pipelined = await open1();
          before = count();
          pipelined.socket.write(good + bad);
          const second = row.status ?? reader.pipelined ?? status;
          assert.deepEqual(await pipelined.answers(2), [200, second], 'pipelined');
          assert.ok(count() - before <= 1 + opens);
          const isServed = opens === 1 && second === status;
          if (isServed) await introduce(pipelined);
          await servedOnly(isServed ? 2 : 1, 'pipelined');
          pipelined.socket.destroy();
        }

        const reused = await open1();
        before = count();
        reused.socket.write(good);
        await reused.answers(1);
        row.between?.();
        reused.socket.write(bad);
        assert.deepEqual(await reused.answers(2), [200, expected], 'reused');
        await introduce(reused);
        await servedOnly(1 + opens, 'reused');
        reused.socket.destroy();

        const busy = await open1();
        const session = await openWith(hub, row.good);
        before = count();
        const call = { ...post, first: 'POST /mcp/echo HTTP/1.1', body: held };
        busy.socket.write(
          bytesOf(call, {
            ...row.good,
            headers: [...row.good.headers, `mcp-session-id: ${session}`],
          }),
        );
        await until(() => hub.router.inFlight === 1);
        row.between?.();
        busy.socket.write(bad);
        await delay(readMs);
        if (!row.endsSessions) assert.equal(hub.router.inFlight, 1);
        release();
        assert.deepEqual(await busy.answers(2), [200, expected], 'behind a call');
        settled(opens, before);
        await introduce(busy);
        await servedOnly(2 + opens, 'behind a call');
        busy.socket.destroy();
        await until(() => hub.connections.size === 0);
      });
    }
  });

async function openWith(hub: TestHub, said: Said): Promise<string> {
  const { id } = await openSession(`${hub.url}/mcp/echo`, '2025-11-25', {}, headersOf(said));
  return id;
}

const headersOf = ({ headers }: Said): Readonly<Record<string, string>> =>
  Object.fromEntries(
    headers.map(line => {
      const [name = '', value = ''] = line.split(': ');
      return [name, value] as const;
    }),
  );
