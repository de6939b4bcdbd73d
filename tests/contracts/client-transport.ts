import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, test } from 'vitest';
import { isObject } from '#core';
import { type TestHub, startHub, until } from '#helpers/hub';
import { startToolServer } from '../doubles/tool-server.ts';

export type Json = { readonly [name: string]: unknown };

/** A client that sends and receives JSON without interpreting it. */
export type RawClient = {
  /** Sends a raw text, or a message as JSON. */
  send(text: string | object): void;
  /** All messages received so far, in order. */
  readonly received: readonly Json[];
  /** Closes the connection like a well-behaved client. */
  close(): void;
};

type ClientTransport = {
  readonly name: string;
  /** Connects to one server of the hub, or to all. Rejects if the hub refuses. */
  open(hub: TestHub, server?: string): Promise<RawClient>;
  /** Returns the HTTP status with which the hub refuses a connection with these headers; undefined for stdio. */
  readonly refused?: (
    hub: TestHub,
    headers: Readonly<Record<string, string>>,
    server?: string,
  ) => Promise<number>;
};

type Talking = RawClient & {
  /** Sends a request and resolves with its answer. */
  ask(id: string | number, method: string, params?: object): Promise<Json>;
  call(id: string | number, tool: string, given?: object, meta?: object): Promise<Json>;
  answer(id: string | number | null): Promise<Json>;
  /** Resolves with the first message of this method. */
  told(method: string): Promise<Json>;
};

const megabytes = 5;
const text = (result: unknown) => JSON.stringify(result);

/** Servers of the hub that the tests share. */
export const sharedServers = [{ name: 'echo' }, { name: 'asker' }] as const;

/**
 * Tests that every transport of clients must pass. `sharedHub` returns a hub with `sharedServers`, which the tests
 * leave unchanged.
 */
export function clientTransportContract(
  sharedHub: () => TestHub,
  transport: ClientTransport,
): void {
  const joined: RawClient[] = [];
  const sessions = (hub: TestHub) =>
    hub.router.sessionCount + hub.streamable.sessionCount + hub.connections.size;

  async function join(hub: TestHub, server?: string, capabilities = {}): Promise<Talking> {
    const raw = await transport.open(hub, server);
    joined.push(raw);
    const client = talk(raw);
    const opened = await client.ask('open', 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo: { name: 'contract', version: '1' },
    });
    assert.equal(isObject(opened['result']) && opened['result']['protocolVersion'], '2025-11-25');
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  }

  describe(`a client over ${transport.name}`, () => {
    afterEach(async () => {
      for (const client of joined.splice(0)) client.close();
      await until(() => busy(sharedHub()) === 0 && sessions(sharedHub()) === 0);
    });

    test('lists and calls tools of all servers and of one, and gets responses with its own ids', async () => {
      const hub = sharedHub();
      for (const [server, tool] of [
        [undefined, 'echo_echo'],
        ['echo', 'echo'],
      ] as const) {
        const client = await join(hub, server);
        const listed = await client.ask(7, 'tools/list');
        assert.match(text(listed), new RegExp(`"name":"${tool}"`));
        assert.strictEqual(listed['id'], 7);
        const called = await client.call('7', tool, { text: 'grüß ☃ "dich"' });
        assert.strictEqual(called['id'], '7');
        assert.deepEqual(called['result'], {
          content: [{ type: 'text', text: 'grüß ☃ "dich"' }],
        });
        client.close();
      }
    });

    test('receives progress before the response, in order and under its own token', async () => {
      const hub = sharedHub();
      const client = await join(hub, 'echo');
      await client.call(1, 'progress', { steps: 3 }, { progressToken: 'mine' });
      const seen = client.received.filter(
        ({ id, method }) => id === 1 || method === 'notifications/progress',
      );
      assert.deepEqual(
        seen.map(({ params }) => isObject(params) && [params['progressToken'], params['progress']]),
        [['mine', 1], ['mine', 2], ['mine', 3], false],
      );
      client.close();
    });

    test('can cancel its requests', async () => {
      const hub = sharedHub();
      const client = await join(hub, 'echo');
      client.send(callOf(1, 'slow', { ms: 60_000 }));
      await until(() => busy(hub) === 1);
      client.send({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 1, reason: 'enough' },
      });
      await until(() => busy(hub) === 0);
      assert.match(text(await client.call(2, 'echo', { text: 'still here' })), /still here/);
      client.close();
    });

    test('is notified that a list has changed, and of log messages of a server', async () => {
      const hub = sharedHub();
      const client = await join(hub, 'echo');
      await client.call(1, 'relist');
      await client.told('notifications/tools/list_changed');
      await client.ask(2, 'logging/setLevel', { level: 'info' });
      await client.call(3, 'log', { level: 'info', text: 'said so' });
      const told = await client.told('notifications/message');
      assert.deepEqual(told['params'], { level: 'info', logger: 'echo', data: 'said so' });
      client.close();
    });

    test('answers requests of a server, whose call then continues', async () => {
      const hub = sharedHub();
      const client = await join(hub, 'asker', { sampling: {} });
      const params = { messages: [], maxTokens: 5 };
      const called = client.call(1, 'ask', { method: 'sampling/createMessage', params });
      const asked = await client.told('sampling/createMessage');
      assert.deepEqual(asked['params'], params);
      const result = { model: 'none', role: 'assistant', content: { type: 'text', text: 'four' } };
      client.send({ jsonrpc: '2.0', id: asked['id'], result });
      const { content } = Object(Object(await called).result);
      assert.deepEqual(JSON.parse(content[0].text), { result });
      client.close();
    });

    test('gets an error for invalid JSON and for invalid JSON-RPC, and continues', async () => {
      const hub = sharedHub();
      const client = await join(hub, 'echo');
      for (const [sent, code] of [
        ['{"jsonrpc":"2.0","id":1,', -32700],
        ['{"jsonrpc":"2.0","id":1,"method":5}', -32600],
        ['"no object"', -32600],
        ['[]', -32600],
      ] as const) {
        // Ignore notifications from the start of the server, which may still arrive.
        const errors = () => client.received.filter(({ error }) => error !== undefined);
        const before = errors().length;
        client.send(sent);
        await until(() => errors().length > before);
        const told = errors()[before] ?? {};
        assert.strictEqual(told['id'], null, sent);
        assert.equal(isObject(told['error']) && told['error']['code'], code, sent);
      }
      assert.match(text(await client.call(2, 'echo', { text: 'still here' })), /still here/);
      client.close();
    });

    test(`sends and receives ${megabytes} MB`, async () => {
      const hub = sharedHub();
      const client = await join(hub, 'echo');
      const long = 'ä'.repeat((megabytes * 1024 * 1024) / 2);
      const { content } = Object(Object(await client.call(1, 'echo', { text: long })).result);
      assert.ok(content[0].text === long);
      client.close();
    });

    test('gets one response to each of 100 concurrent requests', async () => {
      const hub = sharedHub();
      const client = await join(hub, 'echo');
      const ids = Array.from({ length: 100 }, (_, index) => index);
      await Promise.all(
        ids.map(async id => {
          const answer = await client.call(id, 'echo', { text: `<${id}>` });
          assert.match(text(answer), new RegExp(`<${id}>`));
        }),
      );
      const answered = client.received.filter(({ id }) => typeof id === 'number');
      assert.deepEqual(
        answered.map(({ id }) => Number(id)).toSorted((a, b) => a - b),
        ids,
      );
      client.close();
    });

    test('that disconnects leaves no request in flight and no session', async () => {
      const hub = sharedHub();
      const client = await join(hub, 'echo');
      client.send(callOf(1, 'slow', { ms: 60_000 }));
      await until(() => busy(hub) === 1);
      client.close();
      await until(
        () => busy(hub) === 0 && sessions(hub) === 0,
        () => sessions(hub),
      );
    });

    test('gets the responses to requests in flight when the hub stops, and no others', async () => {
      await using slow = await startToolServer({
        async slow({ ms }) {
          await delay(Number(ms));
          return { content: [{ type: 'text', text: `slept ${String(ms)} ms` }] };
        },
      });
      await using hub = await startHub([{ name: 'echo', url: slow.url, era: 'legacy' }]);
      const client = await join(hub, 'echo');
      client.send(callOf(1, 'slow', { ms: 200 }));
      await until(() => busy(hub) === 1);
      const drained = Promise.all([hub.streamable.drain(10_000), hub.connections.drain(10_000)]);
      client.send(callOf(2, 'echo', { text: 'too late' }));
      assert.match(text(await client.answer(1)), /slept 200 ms/);
      await drained;
      assert.equal(hub.router.sessionCount, 0);
      assert.ok(!text(client.received).includes('too late'));
      client.close();
    });

    const { refused } = transport;
    if (refused)
      test('is refused for a foreign Host or Origin, without the token, and for an unknown server', async () => {
        const token = 'a-token-of-some-length';
        await using hub = await startHub([], { http: { token } });
        const own = { authorization: `Bearer ${token}` };
        assert.equal(await refused(hub, { ...own, host: 'evil.example' }), 403);
        assert.equal(await refused(hub, { ...own, origin: 'https://evil.example' }), 403);
        assert.equal(await refused(hub, {}), 401);
        assert.equal(await refused(hub, { authorization: 'Bearer another' }), 401);
        assert.equal(await refused(hub, own, 'no_such'), 404);
        assert.equal(hub.router.sessionCount, 0);
      });
  });
}

const busy = (hub: TestHub) => hub.servers.all[0]?.running?.upstream.inFlight() ?? 0;

const callOf = (id: string | number, name: string, given: object = {}, meta?: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given, ...(meta && { _meta: meta }) },
});

/** Adds methods for requests and answers to a raw client. */
export function talk(client: RawClient): Talking {
  async function find(matches: (message: Json) => boolean, what: string): Promise<Json> {
    let found: Json | undefined;
    await until(
      () => (found = client.received.find(matches)) !== undefined,
      () => `${what} in ${text(client.received).slice(0, 2_000)}`,
    );
    return found ?? assert.fail();
  }
  const answer = (id: string | number | null) =>
    find(message => message['id'] === id && message['method'] === undefined, `an answer to ${id}`);
  const ask = async (id: string | number, method: string, params?: object) => {
    client.send({ jsonrpc: '2.0', id, method, ...(params && { params }) });
    return await answer(id);
  };
  return {
    get received() {
      return client.received;
    },
    send: message => client.send(message),
    close: () => client.close(),
    answer,
    ask,
    call: async (id, tool, given, meta) =>
      await ask(id, 'tools/call', callOf(id, tool, given, meta).params),
    told: method => find(message => message['method'] === method, method),
  };
}
