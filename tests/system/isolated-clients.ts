import assert from 'node:assert/strict';
import { type IncomingMessage, Agent, request } from 'node:http';
import { afterAll } from 'vitest';
import { WebSocket } from 'ws';
import { isObject } from '#core';
import { type TestHub, until } from '#helpers/hub';

/** Config of the server of all isolation tests: it repeats its caller's secret in all that it sends. */
export const whisper = {
  file: 'whisper.mjs',
  era: 'legacy',
  callTimeoutMs: 60_000,
  env: { MAX_SLOW_MS: '60000' },
} as const;

/** Options of a hub that admits all clients of a test. */
export const many = {
  streamable: { maxSessions: 2_000 },
  connections: { maxConnections: 200 },
} as const;

const agent = new Agent({ keepAlive: true, maxSockets: 400 });
afterAll(() => agent.destroy());

/** A parsed message. */
export type Json = { readonly [name: string]: unknown };

/** A client that stores every message it receives. */
export type Client = {
  readonly secret: string;
  /** All messages received so far. */
  readonly received: Json[];
  readonly send: (message: object) => void;
  close(): void;
};

/** Returns the secret of the client with this number, which only that client sends. */
export const secretOf = (number: number) => `<secret ${String(number).padStart(4, '0')}>`;

function parse(text: string): Json {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : assert.fail(text);
}

/** Sends an HTTP request. Calls `each` with the messages of the answer as they arrive. */
export async function ask(
  url: string,
  options: { readonly method: string; readonly headers: Readonly<Record<string, string>> },
  body: string,
  each: (message: Json) => void,
  shared = agent,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(url, { ...options, agent: shared })
    .on('response', resolve)
    .on('error', reject)
    .end(body);
  const response = await promise;
  const isStream = response.headers['content-type'] === 'text/event-stream';
  let rest = '';
  response.on('error', () => {});
  response.setEncoding('utf8').on('data', (chunk: string) => {
    rest += chunk;
    if (!isStream) return;
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) each(parse(data));
    }
  });
  response.on('end', () => {
    if (!isStream && rest !== '') each(parse(rest));
  });
  return response;
}

/** Headers of a POST request. */
export const posting = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** An `initialize` request of a client that supports sampling. */
export const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { sampling: {} },
    clientInfo: { name: 'isolated', version: '1' },
  },
};

/** Opens a session over streamable HTTP, with its GET stream. */
export async function openHttp(hub: TestHub, path: string, secret: string): Promise<Client> {
  const url = `${hub.url}${path}`;
  const received: Json[] = [];
  const take = (message: Json) => void received.push(message);
  const opened = await ask(
    url,
    { method: 'POST', headers: posting },
    JSON.stringify(initialize),
    take,
  );
  assert.equal(opened.statusCode, 200);
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  const standing = await ask(url, { method: 'GET', headers: { ...posting, ...session } }, '', take);
  assert.equal(standing.statusCode, 200);
  return {
    secret,
    received,
    send(message) {
      const headers = { ...posting, ...session };
      void ask(url, { method: 'POST', headers }, JSON.stringify(message), take);
    },
    close: () => standing.destroy(),
  };
}

/** Opens a session over a WebSocket. */
export async function openWebSocket(hub: TestHub, path: string, secret: string): Promise<Client> {
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}${path}`, ['mcp']);
  const received: Json[] = [];
  socket.on('message', data =>
    received.push(parse(Buffer.isBuffer(data) ? data.toString() : assert.fail('no text'))),
  );
  const send = (message: object) => socket.send(JSON.stringify(message));
  await new Promise(resolve => socket.once('open', resolve));
  send(initialize);
  await until(() => received.length > 0);
  return { secret, received, send, close: () => socket.terminate() };
}

/** Returns a tool call, whose progress token is its id. */
export function call(id: number, name: string, given: object): object {
  return {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: given, _meta: { progressToken: id } },
  };
}
