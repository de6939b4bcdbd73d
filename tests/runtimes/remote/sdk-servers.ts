import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { type Served, serve } from './serve.ts';

/** A server with one tool, `count`, that reports progress twice and then answers. */
function createServer(): McpServer {
  const server = new McpServer({ name: 'counter', version: '1.0.0' });
  server.registerTool('count', { inputSchema: { to: z.number() } }, async ({ to }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= 2; progress++)
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress },
      });
    return { content: [{ type: 'text', text: `counted to ${to}` }] };
  });
  return server;
}

export type SdkServer = Served & {
  /** Sends a notification that is about no request. */
  announce(): Promise<void>;
  /** Headers of the requests so far. */
  readonly requests: readonly {
    readonly method: string;
    readonly headers: Record<string, unknown>;
  }[];
};

/** The SDK's streamable HTTP server, which answers with JSON or with streams. */
export async function startStreamable(enableJsonResponse: boolean): Promise<SdkServer> {
  const server = createServer();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse,
  });
  // The SDK's own types disagree with each other under exactOptionalPropertyTypes.
  await server.connect(
    Object.assign(transport, { onclose: () => {}, onerror: () => {}, onmessage: () => {} }),
  );
  const requests: { method: string; headers: Record<string, unknown> }[] = [];
  const served = await serve((request, response) => {
    requests.push({ method: request.method ?? '', headers: request.headers });
    return transport.handleRequest(request, response);
  });
  return { ...served, requests, announce: async () => server.sendToolListChanged() };
}

/** The SDK's server for HTTP with SSE. */
export async function startLegacy(): Promise<SdkServer> {
  const server = createServer();
  let transport: SSEServerTransport | undefined;
  const requests: { method: string; headers: Record<string, unknown> }[] = [];
  const served = await serve(async (request, response) => {
    requests.push({ method: request.method ?? '', headers: request.headers });
    if (request.method === 'GET') {
      transport = new SSEServerTransport('/messages', response);
      await server.connect(transport);
    } else await transport?.handlePostMessage(request, response);
  });
  return { ...served, requests, announce: async () => server.sendToolListChanged() };
}
