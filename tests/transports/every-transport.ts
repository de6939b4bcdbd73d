import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import {
  Client as ClientOfV2,
  StreamableHTTPClientTransport as HttpOfV2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { TestHub } from '#helpers/hub';
import type { RawClient } from '../contracts/client-transport.ts';
import { openOnStdio, openOverBridge } from './raw-clients.ts';

/** Part of the path after `/mcp` or `/sse`: empty, a slash and a server, or `/@` and a profile. */
type Path = '' | `/${string}`;

/** Connected client of the SDK. */
type Opened = AsyncDisposable & {
  readonly list: () => Promise<readonly string[]>;
  readonly call: (name: string, args?: Record<string, unknown>) => Promise<unknown>;
  readonly read: (uri: string) => Promise<unknown>;
};

async function over(transport: Transport): Promise<Opened> {
  const client = new Client({ name: 'v1', version: '1' });
  await client.connect(transport);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => await client.callTool({ name, arguments: args }),
    read: async uri => await client.readResource({ uri }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function overV2(hub: TestHub, path: Path, pin: boolean): Promise<Opened> {
  const info = { name: 'v2', version: '1' };
  const client = new ClientOfV2(
    info,
    pin ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  await client.connect(new HttpOfV2(new URL(`${hub.url}/mcp${path}`)));
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => await client.callTool({ name, arguments: args }),
    read: async uri => await client.readResource({ uri }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const serverIn = (path: Path) => (path === '' ? undefined : path.slice(1));

/** Connects the SDK's client over two pipes. */
async function overPipes(pipes: RawClient, output: unknown): Promise<Opened> {
  assert.ok(output instanceof PassThrough);
  let at = 0;
  const transport: Transport = {
    async start() {
      output.on('data', () =>
        setImmediate(() => {
          for (const { received } = pipes; at < received.length; at++)
            transport.onmessage?.(JSONRPCMessageSchema.parse(received[at]));
        }),
      );
    },
    send: async message => pipes.send({ ...message }),
    close: async () => pipes.close(),
  };
  return await over(transport);
}

/** Functions that connect a client of the SDK over each transport. */
export const transports: Readonly<Record<string, (hub: TestHub, path: Path) => Promise<Opened>>> = {
  'streamable HTTP': async ({ url }, path) =>
    await over(new StreamableHTTPClientTransport(new URL(`${url}/mcp${path}`))),
  'streamable HTTP, SDK v2': async (hub, path) => await overV2(hub, path, false),
  'streamable HTTP of 2026-07-28': async (hub, path) => await overV2(hub, path, true),
  SSE: async ({ url }, path) => await over(new SSEClientTransport(new URL(`${url}/sse${path}`))),
  WebSocket: async ({ url }, path) =>
    await over(new WebSocketClientTransport(new URL(`${url.replace('http', 'ws')}/mcp${path}`))),
  stdio: async (hub, path) => {
    const pipes = await openOnStdio(hub, serverIn(path), 'lines');
    return await overPipes(pipes, pipes.streams.output);
  },
  'connect-stdio': async (hub, path) => {
    const pipes = await openOverBridge(hub, serverIn(path), 'lines');
    return await overPipes(pipes, pipes.output);
  },
};
