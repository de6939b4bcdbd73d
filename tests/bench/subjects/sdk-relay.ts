// A straightforward relay with the classes of SDK v1: streamable HTTP in, one shared stdio server out. It has the
// fastest settings of the SDK: plain node:http, JSON instead of event streams.
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  CallToolResultSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { attachedTransport } from './attached-transport.ts';

const [port, kind, target = ''] = process.argv.slice(2);
const info = { name: 'sdk-relay', version: '1.0.0' };

const client = new Client(info);
await client.connect(
  kind === 'container'
    ? await attachedTransport(target)
    : new StdioClientTransport({ command: process.execPath, args: [target] }),
);

const sessions = new Map<string, StreamableHTTPServerTransport>();

async function open(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: true,
    onsessioninitialized: id => void sessions.set(id, transport),
  });
  const server = new Server(info, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => client.listTools(params));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    client.request({ method: 'tools/call', params }, CallToolResultSchema),
  );
  await server.connect(transport);
  return transport;
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.headers['mcp-session-id'];
  const transport = sessions.get(String(id)) ?? (await open());
  await transport.handleRequest(request, response);
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(Number(port), '127.0.0.1', () => process.send?.('listening'));
process.on('disconnect', () => {
  void client.close().finally(() => process.exit(0));
});
