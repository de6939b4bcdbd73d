import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';

/** Connects the SDK's client in the stateless revision only, and records what it sends. */
async function connect(url: string) {
  const sent: { readonly method: string; readonly headers: Headers }[] = [];
  const client = new Client(
    { name: 'modern', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers);
      sent.push({ method: headers.get('mcp-method') ?? '', headers });
      return await fetch(input, init);
    },
  });
  await client.connect(transport);
  return Object.assign(client, {
    /** Returns a header of the newest request with this method. */
    header: (method: string, name: string) =>
      sent.findLast(one => one.method === method)?.headers.get(name),
    [Symbol.asyncDispose]: () => client.close(),
  });
}

const echo = [{ name: 'echo' }];
const fixture = { name: 'fix', file: '../conformance/server.mjs' };

describe("the SDK's client of the stateless revision", () => {
  test('lists, calls, gets and reads on both endpoints, without a session', async () => {
    await using hub = await startHub(echo);
    await using all = await connect(`${hub.url}/mcp`);
    await using one = await connect(`${hub.url}/mcp/echo`);
    const content = [{ type: 'text', text: 'hello' }];
    const given = { text: 'hello' };
    const { tools } = await all.listTools();
    assert.ok(tools.some(({ name }) => name === 'echo_echo'));
    assert.deepEqual(
      (await all.callTool({ name: 'echo_echo', arguments: given })).content,
      content,
    );
    assert.deepEqual((await one.callTool({ name: 'echo', arguments: given })).content, content);
    assert.equal(all.header('tools/call', 'mcp-name'), 'echo_echo');
    const { prompts } = await one.listPrompts();
    assert.ok(prompts.length > 0);
    const { contents } = await one.readResource({ uri: 'echo://note/ü' });
    assert.equal(contents[0]?.uri, 'echo://note/ü');
    assert.match(one.header('resources/read', 'mcp-name') ?? '', /^=\?base64\?.*\?=$/);
    assert.equal(hub.streamable.sessionCount, 0);
    await until(() => hub.router.sessionCount === 0);
  });

  test('gets progress, and cancels by disconnecting', async () => {
    await using hub = await startHub(echo);
    await using client = await connect(`${hub.url}/mcp/echo`);
    const progress: number[] = [];
    await client.callTool(
      { name: 'progress', arguments: { steps: 3 } },
      { onprogress: ({ progress: step }) => progress.push(step) },
    );
    assert.deepEqual(progress, [1, 2, 3]);
    const aborting = new AbortController();
    const slow = client.callTool(
      { name: 'slow', arguments: { ms: 60_000 } },
      { signal: aborting.signal },
    );
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    aborting.abort();
    await assert.rejects(slow);
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0);
    await until(() => hub.router.sessionCount === 0);
  });

  test('gets the notifications that it listens to until the hub ends the stream', async () => {
    await using hub = await startHub(echo);
    await using client = await connect(`${hub.url}/mcp/echo`);
    const heard: string[] = [];
    client.setNotificationHandler(
      'notifications/tools/list_changed',
      () => void heard.push('list'),
    );
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void heard.push(params.uri),
    );
    const subscription = await client.listen({
      toolsListChanged: true,
      resourceSubscriptions: ['echo://greeting'],
    });
    await client.callTool({ name: 'relist', arguments: {} });
    await until(() => heard.includes('list'));
    await client.callTool({ name: 'touch', arguments: { uri: 'echo://greeting' } });
    await until(() => heard.includes('echo://greeting'));
    const left = await client.listen({ toolsListChanged: true });
    await left.close();
    await until(() => hub.router.sessionCount === 1);
    // The app stops in the same order.
    const drained = hub.streamable.drain(10_000);
    hub.router.close();
    await drained;
    assert.equal(await subscription.closed, 'graceful');
    assert.equal(hub.router.sessionCount, 0);
  });

  test('repeats the declared arguments in headers, and is accepted', async () => {
    await using hub = await startHub([fixture]);
    await using client = await connect(`${hub.url}/mcp/fix`);
    const { tools } = await client.listTools();
    const tool = tools.find(one => JSON.stringify(one.inputSchema).includes('x-mcp-header'));
    assert.ok(tool);
    const { isError } = await client.callTool({ name: tool.name, arguments: { region: 'Zürich' } });
    assert.notEqual(isError, true);
    assert.equal(client.header('tools/call', 'mcp-param-region'), '=?base64?WsO8cmljaA==?=');
  });

  test('gets the right responses and progress for 20 parallel calls', async () => {
    await using hub = await startHub(echo);
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect(`${hub.url}/mcp`)));
    await Promise.all(
      clients.map(async (client, at) => {
        for (let round = 0; round < 5; round++) {
          const text = `${at}/${round}`;
          let steps = 0;
          const [echoed] = await Promise.all([
            client.callTool({ name: 'echo_echo', arguments: { text } }),
            client.callTool(
              { name: 'echo_progress', arguments: { steps: 2 } },
              { onprogress: () => steps++ },
            ),
          ]);
          assert.deepEqual(echoed.content, [{ type: 'text', text }]);
          assert.equal(steps, 2);
        }
      }),
    );
    await Promise.all(clients.map(client => client.close()));
    await until(() => hub.router.sessionCount === 0);
  });
});
