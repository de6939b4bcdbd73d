import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client as ClientOfV2,
  StreamableHTTPClientTransport as HttpOfV2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { test } from 'vitest';
import { WebSocket } from 'ws';
import { settled, startHub } from '#helpers/hub-process';
import { improvedOf, startOllama } from '../doubles/ollama.ts';

const improved = improvedOf('make it good');
const echoFile = join(import.meta.dirname, '../fixtures/servers/echo.mjs');

test('a client of a running hub gets its prompts improved, and those in its calls by its rule', async () => {
  await using opened = new AsyncDisposableStack();
  const ollama = opened.use(await startOllama());
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const rulesFile = join(folder, 'rules.json');
  await writeFile(
    rulesFile,
    JSON.stringify({
      default: { model: 'llama3.2:3b' },
      clients: { editor: { tools: { echo_echo: ['text'] }, prompts: ['echo_greet'] } },
    }),
  );
  const echo = {
    command: process.execPath,
    args: [echoFile],
    runtime: 'process',
    auto_start: true,
  };
  const hub = opened.use(
    await startHub({
      config: { servers: { echo } },
      env: { OLLAMA_HOST: ollama.url, ENHANCEMENT_RULES_CONFIG: rulesFile },
    }),
  );
  await settled(hub, 20_000);
  async function connect(name: string): Promise<Client> {
    const client = new Client({ name, version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`)));
    opened.defer(() => client.close());
    return client;
  }
  const editor = await connect('editor');
  const { tools } = await editor.listTools();
  assert.ok(tools.some(({ name }) => name === 'agenthub_enhance_prompt'));
  // The SDK validates the result against the listed output schema.
  const called = await editor.callTool({
    name: 'agenthub_enhance_prompt',
    arguments: { prompt: 'make it good' },
  });
  const { structuredContent } = called;
  assert.deepEqual(
    { ...Object(structuredContent), took_ms: 0 },
    {
      prompt: improved,
      enhanced: true,
      source: 'model',
      client: 'editor',
      rule: 'editor',
      model: 'llama3.2:3b',
      took_ms: 0,
    },
  );
  const got = await editor.getPrompt({ name: 'enhance', arguments: { prompt: 'make it good' } });
  assert.deepEqual(got.messages, [{ role: 'user', content: { type: 'text', text: improved } }]);
  const echoed = async (client: Client) =>
    (await client.callTool({ name: 'echo_echo', arguments: { text: 'as it is' } })).content;
  assert.deepEqual(await echoed(editor), [{ type: 'text', text: improvedOf('as it is') }]);
  assert.deepEqual(await echoed(await connect('other')), [{ type: 'text', text: 'as it is' }]);
  const greeted = await editor.getPrompt({ name: 'echo_greet', arguments: { name: 'Ada' } });
  const text = improvedOf('Greet Ada warmly.');
  assert.deepEqual(greeted.messages, [{ role: 'user', content: { type: 'text', text } }]);

  // The header determines the client, regardless of its `clientInfo`.
  const other = { name: 'other', version: '1' };
  const headers = { 'X-Client-Name': 'editor' };
  const requestInit = { headers };
  for (const transport of [
    new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), { requestInit }),
    new SSEClientTransport(new URL(`${hub.url}/sse`), {
      requestInit,
      eventSourceInit: { fetch: (url, init) => fetch(url, { ...init, headers }) },
    }),
  ]) {
    const client = new Client(other);
    await client.connect(transport);
    opened.defer(() => client.close());
    assert.deepEqual(await echoed(client), [{ type: 'text', text: improvedOf('as it is') }]);
    const answer = await client.callTool({
      name: 'agenthub_enhance_prompt',
      arguments: { prompt: 'make it good' },
    });
    assert.equal(Object(answer.structuredContent).rule, 'editor');
  }
  const modern = new ClientOfV2(other, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await modern.connect(new HttpOfV2(new URL(`${hub.url}/mcp`), { requestInit }));
  opened.defer(() => modern.close());
  const { content } = await modern.callTool({ name: 'echo_echo', arguments: { text: 'as it is' } });
  assert.deepEqual(content, [{ type: 'text', text: improvedOf('as it is') }]);
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp`, 'mcp', { headers });
  opened.defer(() => socket.close());
  await once(socket, 'open');
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: other };
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
  await once(socket, 'message');
  const call = { name: 'echo_echo', arguments: { text: 'as it is' } };
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call }));
  const [message] = await once(socket, 'message');
  assert.ok(String(message).includes(JSON.stringify(improvedOf('as it is'))));
});
