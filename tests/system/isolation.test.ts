import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import { isObject } from '#core';
import { startHub, until } from '#helpers/hub';
import { isLong } from '#helpers/length';
import {
  type Client,
  call,
  many,
  openHttp,
  openWebSocket,
  secretOf,
  whisper,
} from './isolated-clients.ts';

/** Number of clients. All use the same ids, so each of them is a chance for the hub to mix them up. */
const sessions = isLong ? 50 : 20;
const timeout = 120_000;

/** Ids of a client's calls, by tool. All clients use the same ids. */
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

/** Answers each sampling request of the server with the client's secret. */
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

/** Makes the same calls with the same ids from all clients, and checks that each gets only its own answers. */
async function converse(clients: readonly Client[], prefix: string): Promise<void> {
  const replied = new Map(clients.map(client => [client, new Set<unknown>()]));
  for (const client of clients) {
    const { secret, send } = client;
    // Clients cancel by ids that all of them use.
    send(call(ids.cancelled, `${prefix}slow`, { secret, ms: 50_000 }));
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
  // Calls of all clients are in flight now, until each client was sent the server's request.
  for (const { secret, send } of clients) {
    send(call(ids.ask, `${prefix}ask`, { secret }));
    send(call(ids.touch, `${prefix}touch`, { secret, uri: 'whisper://one' }));
    send(call(ids.relist, `${prefix}relist`, { secret }));
    send(call(ids.pid, `${prefix}pid`, { secret }));
  }
  await answeredAll(clients, replied, [ids.ask]);
  for (const { send } of clients)
    send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: ids.cancelled },
    });
  await answeredAll(clients, replied, Object.values(ids));
  for (const client of clients) check(client);
}

/** Waits until each client has an answer to all given ids. Meanwhile clients answer the server's requests. */
async function answeredAll(
  clients: readonly Client[],
  replied: ReadonlyMap<Client, Set<unknown>>,
  due: readonly number[],
): Promise<void> {
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
}

/** Fails if a client received a message of another client, or did not receive one of its own. */
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

test.for(ways)(
  `${sessions} clients of one shared server get what is theirs over %s`,
  { timeout },
  async ([, open, path, prefix]) => {
    await using hub = await startHub([{ ...whisper, name: 'whisper' }], many);
    const clients = await Promise.all(
      Array.from({ length: sessions }, (_, number) => open(hub, path, secretOf(number))),
    );
    await converse(clients, prefix);
    await until(() => clients.every(client => updates(client) >= sessions));
    // The hub cannot know which client the server means, so it asks none, and each call fails.
    for (const client of clients) {
      assert.equal(asked(client), 0);
      assert.match(JSON.stringify(answersTo(client, ids.ask)), /HUB_CLIENT_UNKNOWN/);
    }
    expect(new Set(clients.map(pidOf)).size).toBe(1);
    for (const client of clients) client.close();
  },
);

test.for(ways)(
  `${sessions} clients with a server each get what is theirs over %s`,
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
    // The notification may arrive on another connection than the answers.
    await until(() => clients.every(client => updates(client) >= 1));
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
