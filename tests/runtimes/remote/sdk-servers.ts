import { randomUUID } from 'node:crypto';
import type http from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CreateMessageResultSchema, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { McpServer as ModernServer, createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Served, serve } from './serve.ts';

/**
 * Creates a server with three tools: `count` reports progress twice and then answers; `ask` sends an elicitation to the
 * client, related to the call or (`aside`) to no request; `confide` logs a secret and requests sampling with it, once
 * `together` calls have arrived.
 */
function createServer(): McpServer {
  const server = new McpServer(
    { name: 'counter', version: '1.0.0' },
    { capabilities: { logging: {} } },
  );
  let confiding = 0;
  const { promise: allThere, resolve: allCame } = Promise.withResolvers<void>();
  const secretly = { secret: z.string(), together: z.number() };
  server.registerTool('confide', { inputSchema: secretly }, async (given, extra) => {
    const { secret, together } = given;
    if (++confiding === together) allCame();
    await allThere;
    await extra.sendNotification({
      method: 'notifications/message',
      params: { level: 'info', data: secret },
    });
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: secret } }];
    const { content } = await extra.sendRequest(
      { method: 'sampling/createMessage', params: { messages, maxTokens: 9 } },
      CreateMessageResultSchema,
    );
    return { content: [{ type: 'text', text: JSON.stringify(content) }] };
  });
  server.registerTool('count', { inputSchema: { to: z.number() } }, async ({ to }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= 2; progress++)
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress },
      });
    return { content: [{ type: 'text', text: `counted to ${to}` }] };
  });
  server.registerTool('ask', { inputSchema: { aside: z.boolean() } }, async ({ aside }, extra) => {
    const question = {
      message: 'Who?',
      requestedSchema: {
        type: 'object' as const,
        properties: { name: { type: 'string' as const } },
      },
    };
    const { content } = aside
      ? await server.server.elicitInput(question)
      : await extra.sendRequest(
          { method: 'elicitation/create', params: question },
          ElicitResultSchema,
        );
    return { content: [{ type: 'text', text: `it is ${String(content?.['name'])}` }] };
  });
  return server;
}

export type SdkServer = Served & {
  /** Sends a notification that is related to no request. */
  announce(): Promise<void>;
  /** Method and headers of each request so far. */
  readonly requests: readonly {
    readonly method: string;
    readonly headers: Record<string, unknown>;
  }[];
};

/** Starts the SDK's streamable HTTP server, which answers with JSON or with streams. */
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

/** Starts the SDK's server of HTTP with SSE. */
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

type ModernSdkServer = SdkServer & {
  /** Returns the number of pending calls of `hang`. */
  readonly hanging: () => number;
  /** Changes the header in which the tool expects `unit`, without a notification. */
  renameHeader(name: string): void;
};

/**
 * Starts the SDK's server of 2026-07-28 only. Its tool `count` expects `to` and `unit` in headers, `announce` notifies
 * subscribers that the tools have changed, and `hang` never answers.
 */
export async function startModern(): Promise<ModernSdkServer> {
  let hanging = 0;
  let unitHeader = 'Unit';
  const handler = createMcpHandler(
    () => {
      const server = new ModernServer(
        { name: 'counter', version: '1.0.0' },
        { capabilities: { tools: { listChanged: true } } },
      );
      const to = z.int().meta({ 'x-mcp-header': 'To' });
      const unit = z.string().optional().meta({ 'x-mcp-header': unitHeader });
      const inputSchema = z.object({ to, unit });
      server.registerTool('count', { inputSchema }, async ({ to: last, unit: what = '' }, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (let progress = 1; progressToken !== undefined && progress <= 2; progress++)
          await ctx.mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress },
          });
        return { content: [{ type: 'text', text: `counted to ${last} ${what}` }] };
      });
      server.registerTool('hang', {}, async ctx => {
        hanging++;
        const { promise, resolve } = Promise.withResolvers<void>();
        ctx.mcpReq.signal.addEventListener('abort', () => resolve());
        await promise;
        hanging--;
        return { content: [] };
      });
      return server;
    },
    { legacy: 'reject' },
  );
  const requests: { method: string; headers: Record<string, unknown> }[] = [];
  const served = await serve(async (request, response) => {
    requests.push({ method: request.method ?? '', headers: request.headers });
    await fetchBy(wanted => handler.fetch(wanted), request, response);
  });
  return {
    ...served,
    requests,
    announce: async () => handler.notify.toolsChanged(),
    hanging: () => hanging,
    renameHeader: name => (unitHeader = name),
  };
}

/** Handles an HTTP request of Node with a handler of the Fetch API. */
async function fetchBy(
  handle: (request: Request) => Promise<Response>,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const chunks: Buffer[] = await request.toArray();
  const answer = await handle(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method ?? 'GET',
      headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      body: request.method === 'POST' ? Buffer.concat(chunks) : null,
      signal: gone.signal,
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  if (answer.body) await pipeline(Readable.fromWeb(answer.body), response);
  else response.end();
}
