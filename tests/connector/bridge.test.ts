import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'vitest';
import { dialHub } from '#connector';
import { systemClock } from '#core';
import { startHub, until } from '#helpers/hub';
import { freePort } from '#helpers/port';
import { metaKeys, modernVersion } from '#mcp';
import { type RawClient, talk } from '../contracts/client-transport.ts';
import { openOverBridge } from '../transports/raw-clients.ts';

const echo = [{ name: 'echo' }];
/** Returns the address for a first hub, whose port no other program gets while no hub uses it. */
const kept = async () => ({ http: { port: await freePort() } });
/** Returns the same address, for the next hub. */
const at = ({ url }: { readonly url: string }) => ({ http: { port: Number(new URL(url).port) } });

async function join(client: RawClient, capabilities = {}) {
  const talking = talk(client);
  await talking.ask('open', 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities,
    clientInfo: { name: 'bridged', version: '1' },
  });
  client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return talking;
}

describe('a client behind connect-stdio, when its hub is restarted,', () => {
  test('gets errors for requests in flight at once, and continues with the next hub', async () => {
    const first = await startHub(echo, await kept());
    const client = await join(await openOverBridge(first, 'echo', 'lines'));
    client.send({
      jsonrpc: '2.0',
      id: 'lost',
      method: 'tools/call',
      params: { name: 'slow', arguments: { ms: 60_000 } },
    });
    await until(() => first.server('echo').running?.upstream.inFlight() === 1);
    await first[Symbol.asyncDispose]();
    const lost = Object((await client.answer('lost'))['error']);
    assert.ok(['HUB_CONNECT_FAILED', 'HUB_SHUTTING_DOWN'].includes(lost.data.code), lost.data.code);

    const away = Object((await client.ask('away', 'tools/list'))['error']);
    assert.equal(away.data.code, 'HUB_CONNECT_FAILED');
    assert.equal(away.data.retryable, true);

    await using second = await startHub(echo, at(first));
    await client.told('notifications/tools/list_changed');
    assert.match(JSON.stringify(await client.call(5, 'echo', { text: 'again' })), /again/);
    assert.equal(second.router.sessionCount, 1);
    client.close();
    await until(() => second.router.sessionCount === 0);
  });

  test('keeps its log level, subscriptions and capabilities', async () => {
    const servers = [{ name: 'echo' }, { name: 'asker' }];
    const first = await startHub(servers, await kept());
    const client = await join(await openOverBridge(first, undefined, 'headers'), { sampling: {} });
    await client.ask(1, 'logging/setLevel', { level: 'warning' });
    await client.ask(2, 'resources/subscribe', { uri: 'echo://greeting' });
    await client.ask(3, 'resources/subscribe', { uri: 'echo://picture' });
    await client.ask(4, 'resources/unsubscribe', { uri: 'echo://picture' });
    await first[Symbol.asyncDispose]();

    // The hub is back before its servers have started, so they announce no lists yet.
    await using second = await startHub(servers, { ...at(first), start: false });
    for (const kind of ['tools', 'prompts', 'resources'])
      await client.told(`notifications/${kind}/list_changed`);
    await client.ask('in between', 'ping');
    second.servers.startAll();
    await until(() => second.servers.all.every(({ status }) => status.state === 'running'));
    await client.call(5, 'echo_log', { level: 'info', text: 'too quiet' });
    await client.call(6, 'echo_log', { level: 'error', text: 'loud' });
    assert.equal(Object((await client.told('notifications/message'))['params']).data, 'loud');
    const touch = (id: number, uri: string) => client.call(id, 'echo_touch', { uri });
    // The bridge subscribes when the resource is announced, some time after it becomes available.
    for (let id = 100; !JSON.stringify(await touch(id, 'echo://greeting')).includes('told'); id++);
    assert.match(JSON.stringify(await touch(8, 'echo://picture')), /nobody subscribed/);
    const { params } = await client.told('notifications/resources/updated');
    assert.deepEqual(params, { uri: 'echo://greeting' });
    const method = 'sampling/createMessage';
    const called = client.call(9, 'asker_ask', { method, params: { messages: [], maxTokens: 1 } });
    const { id } = await client.told(method);
    client.send({ jsonrpc: '2.0', id, result: { model: 'mine' } });
    assert.match(JSON.stringify(await called), /mine/);
    // The client must not see requests that the bridge sends itself.
    assert.ok(!JSON.stringify(client.received).includes('agenthub-bridge'));
    client.close();
    await until(() => second.router.sessionCount === 0);
  });

  test("gets a cancellation of the old hub's request, and its late response reaches no hub", async () => {
    const asker = [{ name: 'asker' }];
    const method = 'sampling/createMessage';
    const given = { method, params: { messages: [], maxTokens: 1 } };
    const first = await startHub(asker, await kept());
    const client = await join(await openOverBridge(first, 'asker', 'lines'), { sampling: {} });
    void client.call(1, 'ask', given).catch(() => {});
    const old = await client.told(method);
    await first[Symbol.asyncDispose]();
    const { params } = await client.told('notifications/cancelled');
    assert.equal(Object(params).requestId, old['id']);

    await using second = await startHub(asker, at(first));
    await client.told('notifications/tools/list_changed');
    const asked = () => client.received.filter(message => message['method'] === method);
    const again = client.call(2, 'ask', given);
    await until(() => asked().length === 2);
    // Both hubs number their requests from one, and an answer to the old hub must not reach the new one.
    client.send({ jsonrpc: '2.0', id: old['id'], result: { model: 'old' } });
    client.send({ jsonrpc: '2.0', id: asked()[1]?.['id'], result: { model: 'new' } });
    assert.match(JSON.stringify(await again), /new/);
    const withdrawn = await client.call(3, 'ask-and-withdraw', given);
    assert.match(JSON.stringify(withdrawn), /not needed/);
    await until(() => {
      const last = client.received.findLast(message => message['method'] === method);
      return client.received.some(
        message =>
          message['method'] === 'notifications/cancelled' &&
          Object(message['params']).requestId === last?.['id'],
      );
    });
    client.close();
    await until(() => second.router.sessionCount === 0);
  });

  test('keeps its subscriptions/listen streams in the stateless revision', async () => {
    const _meta = {
      [metaKeys.protocolVersion]: modernVersion,
      [metaKeys.clientCapabilities]: {},
    };
    const first = await startHub(echo, await kept());
    const client = talk(await openOverBridge(first, 'echo', 'lines'));
    client.send({
      jsonrpc: '2.0',
      id: 'listen',
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta },
    });
    await client.told('notifications/subscriptions/acknowledged');
    await first[Symbol.asyncDispose]();
    await using second = await startHub(echo, at(first));
    await until(() => second.router.sessionCount === 1);
    const relist = async (id: string) =>
      await client.ask(id, 'tools/call', { name: 'relist', arguments: {}, _meta });
    for (let round = 0; ; round++) if ((await relist(`relist-${round}`))['result']) break;
    const { params } = await client.told('notifications/tools/list_changed');
    assert.equal(Object(params)._meta[metaKeys.subscriptionId], 'listen');
    assert.equal(client.received.filter(({ id }) => id === 'listen').length, 0);
    client.close();
  });
});

describe('connect-stdio', () => {
  test('does not wait for the response to a stateless request that its client cancelled', async () => {
    await using hub = await startHub(echo);
    const bridged = await openOverBridge(hub, 'echo', 'lines', { graceMs: 60_000 });
    const client = talk(bridged);
    const _meta = {
      [metaKeys.protocolVersion]: modernVersion,
      [metaKeys.clientCapabilities]: {},
    };
    client.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'slow', arguments: { ms: 60_000 }, _meta },
    });
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    client.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    });
    await client.ask(2, 'tools/list', { _meta });
    assert.equal(client.received.filter(({ id }) => id === 1).length, 0);
    client.close();
    await bridged.over;
  });

  test('ends when its client closes its end, after requests in flight are answered', async () => {
    await using hub = await startHub(echo);
    const bridged = await openOverBridge(hub, 'echo', 'lines', { graceMs: 10_000 });
    const client = await join(bridged);
    client.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'last' } },
    });
    client.close();
    await bridged.over;
    assert.match(JSON.stringify(await client.answer(1)), /last/);
    await until(() => hub.router.sessionCount === 0);
  });

  test('accepts batches in the revisions that have them, and sends their responses as one message', async () => {
    await using hub = await startHub(echo);
    const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });
    const call = {
      jsonrpc: '2.0',
      id: 'two',
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'a' } },
    };
    const batch = [call, { jsonrpc: '2.0', method: 'notifications/nothing' }, ping(1), 5];
    for (const [protocolVersion, expected] of [
      ['2024-11-05', [[null, -32600], [1], ['two']]],
      ['2025-03-26', [[null, -32600], [1], ['two']]],
      ['2025-06-18', 'MCP has no batches since 2025-06-18'],
    ] as const) {
      const bridged = await openOverBridge(hub, 'echo', 'lines');
      let said = '';
      bridged.output.on('data', (chunk: Buffer) => (said += chunk.toString()));
      // The server starts meanwhile, and its new lists are announced.
      const isAnswer = (line: string) => !line.includes('list_changed');
      const lines = () => said.split('\n').slice(0, -1).filter(isAnswer);
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'a', version: '1' } };
      bridged.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
      await until(() => lines().length === 1);
      bridged.send(batch);
      await until(() => lines().length === 2);
      bridged.send(ping(3));
      await until(() => lines().length === 3);
      assert.equal(JSON.parse(lines()[2] ?? '').id, 3, 'a single message is answered alone');
      const answers = JSON.parse(lines()[1] ?? '');
      if (typeof expected === 'string') assert.equal(answers.error.message, expected);
      else
        assert.deepEqual(
          answers.map(({ id, error }: { id: unknown; error?: { code: number } }) =>
            error ? [id, error.code] : [id],
          ),
          expected,
        );
      bridged.close();
      await bridged.over;
    }
  });

  test('ends when its client no longer reads, and when it is stopped', async () => {
    await using hub = await startHub(echo);
    const gone = await openOverBridge(hub, 'echo', 'lines');
    gone.output.destroy();
    await gone.over;
    const stopping = new AbortController();
    const stopped = await openOverBridge(hub, 'echo', 'lines', { signal: stopping.signal });
    stopping.abort();
    await stopped.over;
    await until(() => hub.router.sessionCount === 0);
  });

  test('answers invalid JSON-RPC and too long messages itself', async () => {
    await using hub = await startHub(echo, { start: false });
    const bridged = await openOverBridge(hub, undefined, 'lines');
    const client = talk(bridged);
    client.send('nonsense');
    assert.equal(Object((await client.answer(null))['error']).code, -32700);
    for (const id of [1, '"two"']) {
      const long = `{"method":"ping","params":{"x":"${'x'.repeat(65 * 1024 * 1024)}"},"jsonrpc":"2.0","id":${id}}`;
      client.send(long);
    }
    for (const id of [1, 'two']) {
      const { error } = await client.answer(id);
      assert.equal(Object(error).data.code, 'HUB_BODY_TOO_LARGE');
    }
    assert.deepEqual(await client.ask(3, 'ping'), { jsonrpc: '2.0', id: 3, result: {} });
    client.close();
    await bridged.over;
  });

  test('reports why the hub did not admit it, with a remedy', async () => {
    const token = 'a-token-of-some-length';
    await using hub = await startHub(echo, { start: false, http: { token } });
    await using other = await started(createServer((_request, response) => response.end('hi')));
    const closed = `http://127.0.0.1:${await freePort()}`;
    for (const [address, message] of [
      [{ url: closed }, `no hub answers at ${closed} (connect ECONNREFUSED`],
      [{ url: closed }, 'Start one with "agenthub serve", or name another with --url'],
      [{ url: hub.url }, 'wants its token: set ROUTER_TOKEN'],
      [{ url: hub.url, token: 'another-token' }, 'wants its token: set ROUTER_TOKEN'],
      [{ url: hub.url, token, server: 'nobody' }, 'does not know --server "nobody"'],
      [{ url: other.url }, 'is not AgentHub (HTTP status 200). Name the hub with --url'],
      [{ url: 'localhost:9090' }, '--url: "localhost:9090" is not allowed'],
    ] as const) {
      const whole = { server: undefined, token: undefined, ...address };
      const dialled = dialHub(whole, { message() {}, closed() {} }, systemClock);
      await assert.rejects(dialled, error => {
        assert.ok(error instanceof Error && error.message.includes(message), String(error));
        return true;
      });
    }
    const bridged = await openOverBridge(hub, 'echo', 'lines', { token });
    bridged.close();
    await bridged.over;
  });
});

async function started(server: ReturnType<typeof createServer>) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
