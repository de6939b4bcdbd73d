import assert from 'node:assert/strict';
import { type IncomingMessage, Agent, request } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { isObject } from '#core';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { activeResources, memoryInUse } from '../fuzz/settings.ts';

const sessions = 50;
const whisper = { file: 'whisper.mjs', era: 'legacy', callTimeoutMs: 60_000 } as const;
const timeout = 120_000;
const agent = new Agent({ keepAlive: true, maxSockets: 400 });
afterAll(() => agent.destroy());

type Json = { readonly [name: string]: unknown };

/** A client that keeps every byte it receives. */
type Client = {
  readonly secret: string;
  /** All messages it received. */
  readonly received: Json[];
  readonly send: (message: object) => void;
  close(): void;
};

const secretOf = (number: number) => `<secret ${String(number).padStart(4, '0')}>`;

function parse(text: string): Json {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : assert.fail(text);
}

/** Sends one request over HTTP; `each` gets the messages of its answer as they come. */
async function ask(
  url: string,
  options: { readonly method: string; readonly headers: Readonly<Record<string, string>> },
  body: string,
  each: (message: Json) => void,
  shared = agent,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(url, { ...options, agent: shared })
    .on('response', resolve)
    .on('error', reject)
    .end(body);
  const response = await promise;
  const isStream = response.headers['content-type'] === 'text/event-stream';
  let rest = '';
  response.on('error', () => {});
  response.setEncoding('utf8').on('data', (chunk: string) => {
    rest += chunk;
    if (!isStream) return;
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) each(parse(data));
    }
  });
  response.on('end', () => {
    if (!isStream && rest !== '') each(parse(rest));
  });
  return response;
}

const posting = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { sampling: {} },
    clientInfo: { name: 'isolated', version: '1' },
  },
};

/** A session over streamable HTTP, with its standing stream. */
async function openHttp(hub: TestHub, path: string, secret: string): Promise<Client> {
  const url = `${hub.url}${path}`;
  const received: Json[] = [];
  const take = (message: Json) => void received.push(message);
  const opened = await ask(
    url,
    { method: 'POST', headers: posting },
    JSON.stringify(initialize),
    take,
  );
  assert.equal(opened.statusCode, 200);
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  const standing = await ask(url, { method: 'GET', headers: { ...posting, ...session } }, '', take);
  assert.equal(standing.statusCode, 200);
  return {
    secret,
    received,
    send(message) {
      const headers = { ...posting, ...session };
      void ask(url, { method: 'POST', headers }, JSON.stringify(message), take);
    },
    close: () => standing.destroy(),
  };
}

/** The same over a WebSocket. */
async function openWebSocket(hub: TestHub, path: string, secret: string): Promise<Client> {
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}${path}`, ['mcp']);
  const received: Json[] = [];
  socket.on('message', data =>
    received.push(parse(Buffer.isBuffer(data) ? data.toString() : assert.fail('no text'))),
  );
  const send = (message: object) => socket.send(JSON.stringify(message));
  await new Promise(resolve => socket.once('open', resolve));
  send(initialize);
  await until(() => received.length > 0);
  return { secret, received, send, close: () => socket.terminate() };
}

/** The tools of a client, and its ids, which are those of every other client as well. */
const ids = {
  slow: 1,
  cancelled: 2,
  echo: 3,
  log: 4,
  ask: 5,
  subscribe: 6,
  touch: 7,
  relist: 8,
  pid: 9,
};

function call(id: number, name: string, given: object): object {
  return {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: given, _meta: { progressToken: id } },
  };
}

/** Answers what the server asks, with the secret. */
function replyAll(client: Client, replied: Set<unknown>): void {
  for (const { id, method, params } of client.received)
    if (method === 'sampling/createMessage' && !replied.has(id)) {
      replied.add(id);
      const text = `${client.secret} answers to ${JSON.stringify(params).match(/<secret \d+>/)?.[0]}`;
      const result = { role: 'assistant', model: 'm', content: { type: 'text', text } };
      client.send({ jsonrpc: '2.0', id, result });
    }
}

const answersTo = ({ received }: Client, id: number) =>
  received.filter(message => message['id'] === id && message['method'] === undefined);

/** All do the same at once, under the same ids and progress tokens; each gets its own and nothing else. */
async function converse(clients: readonly Client[], prefix: string): Promise<void> {
  const replied = new Map(clients.map(client => [client, new Set<unknown>()]));
  for (const client of clients) {
    const { secret, send } = client;
    // A client cancels by its own ids, which are those of all others too.
    send(call(ids.cancelled, `${prefix}slow`, { secret, ms: 5_000 }));
    send(call(ids.slow, `${prefix}slow`, { secret, ms: 1_500 }));
    send({
      jsonrpc: '2.0',
      id: ids.subscribe,
      method: 'resources/subscribe',
      params: { uri: 'whisper://one' },
    });
    send(call(ids.echo, `${prefix}echo`, { secret }));
    send(call(ids.log, `${prefix}log`, { secret }));
  }
  await until(() => clients.every(client => answersTo(client, ids.subscribe).length === 1));
  for (const { secret, send } of clients) {
    send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: ids.cancelled },
    });
    // Calls of all others are in flight now.
    send(call(ids.ask, `${prefix}ask`, { secret }));
    send(call(ids.touch, `${prefix}touch`, { secret, uri: 'whisper://one' }));
    send(call(ids.relist, `${prefix}relist`, { secret }));
    send(call(ids.pid, `${prefix}pid`, { secret }));
  }
  const due = Object.values(ids);
  await until(
    () => {
      for (const client of clients) replyAll(client, replied.get(client) ?? new Set());
      return clients.every(client => due.every(id => answersTo(client, id).length > 0));
    },
    () =>
      clients
        .map(client => due.filter(id => answersTo(client, id).length === 0).join())
        .filter(missing => missing !== '')
        .join(' | '),
    60_000,
  );
  for (const client of clients) check(client);
}

/** Fails where a client has anything that is another's, or lacks anything that is its own. */
function check(client: Client): void {
  const { secret, received } = client;
  const all = JSON.stringify(received);
  for (const [found] of all.matchAll(/<secret \d+>/g))
    assert.equal(found, secret, `the client of ${secret} received ${found}`);
  for (const [name, id] of Object.entries(ids)) {
    const answers = answersTo(client, id);
    assert.equal(answers.length, 1, `${name} of ${secret}: ${JSON.stringify(answers)}`);
  }
  assert.match(JSON.stringify(answersTo(client, ids.slow)), new RegExp(`slow ${secret}`));
  assert.match(JSON.stringify(answersTo(client, ids.cancelled)), /HUB_CALL_CANCELLED/);
  assert.match(JSON.stringify(answersTo(client, ids.echo)), new RegExp(`echo ${secret}`));
  const progress = received.filter(({ method }) => method === 'notifications/progress');
  const tokens = progress.map(({ params }) => isObject(params) && params['progressToken']);
  assert.deepEqual(
    [
      tokens.filter(token => token === ids.slow).length,
      tokens.filter(token => token === ids.cancelled).length,
    ],
    [2, 1],
  );
}

const updates = ({ received }: Client) =>
  received.filter(({ method }) => method === 'notifications/resources/updated').length;
const asked = ({ received }: Client) =>
  received.filter(({ method }) => method === 'sampling/createMessage').length;
const pidOf = (client: Client) =>
  /"text":"(\d+) /.exec(JSON.stringify(answersTo(client, ids.pid)))?.[1];

const ways = [
  ['streamable HTTP', openHttp, '/mcp/whisper', ''],
  ['streamable HTTP at the endpoint of all servers', openHttp, '/mcp', 'whisper_'],
  ['WebSockets', openWebSocket, '/mcp/whisper', ''],
] as const;

const many = {
  streamable: { maxSessions: 2_000 },
  connections: { maxConnections: 200 },
} as const;

test.for(ways)(
  '50 clients of one shared server get what is theirs over %s',
  { timeout },
  async ([, open, path, prefix]) => {
    await using hub = await startHub([{ ...whisper, name: 'whisper' }], many);
    const clients = await Promise.all(
      Array.from({ length: sessions }, (_, number) => open(hub, path, secretOf(number))),
    );
    await converse(clients, prefix);
    await until(() => clients.every(client => updates(client) >= sessions));
    // It cannot be told who of them is asked, so that none is, and each call says so.
    for (const client of clients) {
      assert.equal(asked(client), 0);
      assert.match(JSON.stringify(answersTo(client, ids.ask)), /HUB_CLIENT_UNKNOWN/);
    }
    expect(new Set(clients.map(pidOf)).size).toBe(1);
    for (const client of clients) client.close();
  },
);

test.for(ways)(
  '50 clients with a server each get what is theirs over %s',
  { timeout },
  async ([, open, path, prefix]) => {
    await using hub = await startHub(
      [{ ...whisper, name: 'whisper', instance: 'session', maxInstances: 60 }],
      many,
    );
    const clients = await Promise.all(
      Array.from({ length: sessions }, (_, number) => open(hub, path, secretOf(number))),
    );
    await converse(clients, prefix);
    for (const client of clients) {
      assert.equal(asked(client), 1);
      const { secret } = client;
      assert.match(
        JSON.stringify(answersTo(client, ids.ask)),
        new RegExp(`asked ${secret}: .*${secret} answers to ${secret}`),
      );
      assert.equal(updates(client), 1, 'only its own server told it');
    }
    expect(new Set(clients.map(pidOf)).size).toBe(sessions);
    expect(hub.servers.instances.count(hub.server('whisper'))).toBe(sessions);
    for (const client of clients) client.close();
  },
);

/** A session with a standing stream and a call behind it; `drop` loses all its connections. */
async function openToDrop(hub: TestHub, path: string, tool: string, given: object) {
  const own = new Agent({ keepAlive: true });
  const url = `${hub.url}${path}`;
  const received: Json[] = [];
  const take = (message: Json) => void received.push(message);
  const post = (message: object, headers = {}) =>
    ask(
      url,
      { method: 'POST', headers: { ...posting, ...headers } },
      JSON.stringify(message),
      take,
      own,
    );
  const opened = await post(initialize);
  assert.equal(opened.statusCode, 200);
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  await ask(url, { method: 'GET', headers: { ...posting, ...session } }, '', take, own);
  await post(call(1, tool, given), session);
  await until(() => received.some(({ id }) => id === 1));
  return {
    text: JSON.stringify(received),
    /** Another call, whose answer nobody waits for. */
    begin: (name: string, more: object) =>
      void post(call(2, name, more), session).catch(() => undefined),
    drop: () => own.destroy(),
  };
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Nothing is left of sessions: time is moved on until the hub has given up the last of them. */
async function forgotten(hub: TestHub, clock: ManualClock): Promise<void> {
  await until(
    () => {
      clock.advance(5_000);
      return hub.streamable.sessionCount === 0;
    },
    () => hub.streamable.sessionCount,
    60_000,
  );
  await until(
    () => hub.router.inFlight === 0,
    () => hub.router.inFlight,
  );
  assert.deepEqual(
    [hub.router.sessionCount, hub.connections.size, clock.waiting],
    [0, 0, 0],
    'sessions, connections, timers',
  );
}

const maxGrowthBytes = 4 * 1024 * 1024;

test(
  '1,000 sessions that are dropped without a word leave nothing behind',
  { timeout },
  async () => {
    const clock = createManualClock();
    await using hub = await startHub([{ ...whisper, name: 'whisper' }], { ...many, clock });
    async function openAndDrop(count: number): Promise<void> {
      for (let opened = 0; opened < count; opened += 20) {
        const clients = await Promise.all(
          Array.from({ length: 20 }, (_, index) => {
            const [path, prefix] = index % 2 === 0 ? ['/mcp/whisper', ''] : ['/mcp', 'whisper_'];
            return openToDrop(hub, path, `${prefix}echo`, { secret: secretOf(opened + index) });
          }),
        );
        // One leaves while it is being worked for.
        clients[0]?.begin('slow', { secret: secretOf(opened), ms: 100 });
        await until(() => hub.router.inFlight > 0);
        for (const client of clients) client.drop();
      }
      await forgotten(hub, clock);
    }
    await openAndDrop(200);
    const memory = await memoryInUse();
    const resources = activeResources();
    await openAndDrop(1_000);
    await until(
      () => (activeResources()['TCPSocketWrap'] ?? 0) <= (resources['TCPSocketWrap'] ?? 0),
    );
    expect(activeResources()['Timeout'] ?? 0).toBeLessThanOrEqual((resources['Timeout'] ?? 0) + 1);
    expect((await memoryInUse()) - memory).toBeLessThan(maxGrowthBytes);
  },
);

test(
  'the servers of sessions that are dropped end with them, whatever they were at',
  { timeout },
  async () => {
    const clock = createManualClock();
    await using hub = await startHub(
      [{ ...whisper, name: 'whisper', instance: 'session', maxInstances: 20 }],
      { ...many, clock },
    );
    const pids: number[] = [];
    for (let round = 0; round < 3; round++) {
      const clients = await Promise.all(
        Array.from({ length: 20 }, (_, number) =>
          openToDrop(hub, '/mcp/whisper', 'pid', { secret: secretOf(number) }),
        ),
      );
      for (const { text } of clients) pids.push(Number(/"text":"(\d+) /.exec(text)?.[1]));
      // Some leave while their server works, and some while it waits for their answer.
      for (const [index, client] of clients.slice(0, 10).entries())
        client.begin(index % 2 === 0 ? 'ask' : 'slow', { secret: secretOf(index), ms: 300 });
      await until(() => hub.router.inFlight === 10);
      for (const client of clients) client.drop();
      await forgotten(hub, clock);
      await until(() => hub.servers.instances.count(hub.server('whisper')) === 0);
    }
    expect(new Set(pids).size).toBe(60);
    await until(() => !pids.some(isAlive));
  },
);
