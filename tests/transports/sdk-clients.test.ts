import assert from 'node:assert/strict';
import {
  Client as ClientOfV2,
  StreamableHTTPClientTransport as TransportOfV2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';

/** Connects the SDK's client of the revisions with sessions. */
async function connect(url: string) {
  const client = new Client({ name: 'v1', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return Object.assign(client, {
    sessionId: transport.sessionId,
    terminate: () => transport.terminateSession(),
    [Symbol.asyncDispose]: () => client.close(),
  });
}

/** Connects the client of the SDK v2, which speaks the revisions with sessions unless others are requested. */
async function connectV2(url: string) {
  const client = new ClientOfV2({ name: 'v2', version: '1.0.0' });
  await client.connect(new TransportOfV2(new URL(url)));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

const echo = [{ name: 'echo' }];

for (const [version, open] of [
  ['v1', connect],
  ['v2', connectV2],
] as const)
  describe(`the SDK's client, ${version}`, () => {
    test('lists and calls tools on both endpoints', async () => {
      await using hub = await startHub(echo);
      await using all = await open(`${hub.url}/mcp`);
      await using one = await open(`${hub.url}/mcp/echo`);
      assert.equal(all.getServerVersion()?.name, 'agenthub');
      assert.equal(one.getServerVersion()?.name, 'echo');
      const { tools } = await all.listTools();
      assert.ok(tools.some(({ name }) => name === 'echo_echo'));
      const content = [{ type: 'text', text: 'hello' }];
      const given = { text: 'hello' };
      assert.deepEqual(
        (await all.callTool({ name: 'echo_echo', arguments: given })).content,
        content,
      );
      assert.deepEqual((await one.callTool({ name: 'echo', arguments: given })).content, content);
      const { prompts } = await all.listPrompts();
      assert.equal(prompts.length, 2);
      const { contents } = await all.readResource({ uri: 'echo://note/mine' });
      assert.equal(contents[0]?.uri, 'echo://note/mine');
      await all.ping();
      await assert.rejects(all.callTool({ name: 'no_such' }), /no tool is called "no_such"/);
    });

    test('gets -32001 for a session that is over, and opens another one', async () => {
      await using hub = await startHub(echo);
      await using client = await open(`${hub.url}/mcp`);
      const headers = { 'mcp-session-id': client.transport?.sessionId ?? '' };
      const ended = await fetch(`${hub.url}/mcp`, { method: 'DELETE', headers });
      assert.equal(ended.ok, true);
      // Programs that use the SDK look for this text in the error, and then connect again.
      await assert.rejects(client.ping(), /"code":-32001/);
      await using another = await open(`${hub.url}/mcp`);
      await another.ping();
    });
  });

describe("the SDK's client, v1", () => {
  test('gets progress, cancels, and is notified of changes and updates', async () => {
    await using hub = await startHub(echo);
    await using client = await connect(`${hub.url}/mcp`);
    const progress: number[] = [];
    await client.callTool({ name: 'echo_progress', arguments: { steps: 3 } }, undefined, {
      onprogress: ({ progress: step }) => progress.push(step),
    });
    assert.deepEqual(progress, [1, 2, 3]);

    const aborting = new AbortController();
    const slow = client.callTool({ name: 'echo_slow', arguments: { ms: 60_000 } }, undefined, {
      signal: aborting.signal,
    });
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    aborting.abort();
    await assert.rejects(slow);
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0);

    const heard: string[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push('list'));
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void heard.push(params.uri),
    );
    await client.callTool({ name: 'echo_relist' });
    await until(() => heard.includes('list'));
    await client.subscribeResource({ uri: 'echo://greeting' });
    await client.callTool({ name: 'echo_touch', arguments: { uri: 'echo://greeting' } });
    await until(() => heard.includes('echo://greeting'));
    await client.terminate();
    assert.equal(hub.streamable.sessionCount, 0);
  });

  test('gets the right responses and progress for 20 parallel calls', async () => {
    await using hub = await startHub(echo);
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect(`${hub.url}/mcp`)));
    assert.equal(new Set(clients.map(({ sessionId }) => sessionId)).size, 20);
    await Promise.all(
      clients.map(async (client, at) => {
        for (let round = 0; round < 5; round++) {
          const text = `${at}/${round}`;
          let steps = 0;
          const [echoed] = await Promise.all([
            client.callTool({ name: 'echo_echo', arguments: { text } }),
            client.callTool({ name: 'echo_progress', arguments: { steps: 2 } }, undefined, {
              onprogress: () => steps++,
            }),
          ]);
          assert.deepEqual(echoed.content, [{ type: 'text', text }]);
          assert.equal(steps, 2);
        }
      }),
    );
    await Promise.all(clients.map(client => client.close()));
  });
});
