import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';

const transports: Readonly<Record<string, (url: string, server?: string) => Transport>> = {
  SSEClientTransport: (url, server) =>
    new SSEClientTransport(new URL(`${url}/sse${server === undefined ? '' : `/${server}`}`)),
  WebSocketClientTransport: (url, server) =>
    new WebSocketClientTransport(
      new URL(`${url.replace('http', 'ws')}/mcp${server === undefined ? '' : `/${server}`}`),
    ),
};

async function connect(transport: Transport) {
  const client = new Client({ name: 'v1', version: '1.0.0' }, { capabilities: { sampling: {} } });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

for (const [name, open] of Object.entries(transports))
  describe(`the SDK's ${name}`, () => {
    test('lists and calls tools of all servers and of one', async () => {
      await using hub = await startHub([{ name: 'echo' }]);
      await using all = await connect(open(hub.url));
      await using one = await connect(open(hub.url, 'echo'));
      assert.equal(all.getServerVersion()?.name, 'agenthub');
      assert.equal(one.getServerVersion()?.name, 'echo');
      assert.ok((await all.listTools()).tools.some(tool => tool.name === 'echo_echo'));
      const text = 'ü'.repeat(500_000);
      const { content } = await one.callTool({ name: 'echo', arguments: { text } });
      assert.deepEqual(content, [{ type: 'text', text }]);
      await all.ping();
      await assert.rejects(all.callTool({ name: 'no_such' }), /no tool is called "no_such"/);
    });

    test('gets progress, cancels, answers requests, and is notified of changes and updates', async () => {
      await using hub = await startHub([{ name: 'echo' }, { name: 'asker' }]);
      await using client = await connect(open(hub.url));
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

      const content = { type: 'text', text: 'four' } as const;
      client.setRequestHandler(CreateMessageRequestSchema, () => ({
        model: 'none',
        role: 'assistant',
        content,
      }));
      const asked = await client.callTool({
        name: 'asker_ask',
        arguments: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } },
      });
      assert.match(JSON.stringify(asked), /four/);

      const heard: string[] = [];
      client.setNotificationHandler(
        ToolListChangedNotificationSchema,
        () => void heard.push('list'),
      );
      client.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void heard.push(params.uri),
      );
      await client.callTool({ name: 'echo_relist' });
      await until(() => heard.includes('list'));
      await client.subscribeResource({ uri: 'echo://greeting' });
      await client.callTool({ name: 'echo_touch', arguments: { uri: 'echo://greeting' } });
      await until(() => heard.includes('echo://greeting'));
    });

    test('gets the right responses and no other progress for 20 parallel calls', async () => {
      await using hub = await startHub([{ name: 'echo' }]);
      const clients = await Promise.all(
        Array.from({ length: 20 }, () => connect(open(hub.url, 'echo'))),
      );
      await Promise.all(
        clients.map(async (client, at) => {
          for (let round = 0; round < 5; round++) {
            const text = `${at}/${round}`;
            let steps = 0;
            const [echoed] = await Promise.all([
              client.callTool({ name: 'echo', arguments: { text } }),
              client.callTool({ name: 'progress', arguments: { steps: 2 } }, undefined, {
                onprogress: () => steps++,
              }),
            ]);
            assert.deepEqual(echoed.content, [{ type: 'text', text }]);
            // The SDK drops progress that it reads in one chunk with the answer.
            assert.ok(steps <= 2, `${steps} steps`);
          }
        }),
      );
      await Promise.all(clients.map(client => client.close()));
      await until(() => hub.router.sessionCount === 0 && hub.connections.size === 0);
    });
  });
