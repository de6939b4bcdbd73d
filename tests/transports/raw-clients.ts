import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { PassThrough } from 'node:stream';
import { WebSocket } from 'ws';
import { bridgeStdio, dialHub } from '#connector';
import { isObject, silent, systemClock } from '#core';
import { type TestHub, until } from '#helpers/hub';
import { type StdioStreams, maxMessageBytes } from '#jsonrpc';
import { openStdio } from '#transports';
import type { Json, RawClient } from '../contracts/client-transport.ts';
import { type Response, posting, send } from './raw.ts';

const pathOf = (server: string | undefined) => (server === undefined ? '' : `/${server}`);
const textOf = (message: string | object) =>
  typeof message === 'string' ? message : JSON.stringify(message);

function jsonOf(text: string): Json {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : assert.fail(text);
}

/** Opens a client of streamable HTTP that POSTs each message, and opens a GET stream beside the POSTs. */
export async function openStreamable(hub: TestHub, server?: string): Promise<RawClient> {
  const url = `${hub.url}/mcp${pathOf(server)}`;
  const answers: Response[] = [];
  const received: Json[] = [];
  let session: Readonly<Record<string, string>> = {};
  const taken = new Map<Response, number>();

  /** Adds the messages that arrived since the last call to `received`. */
  function gather(): void {
    for (const response of answers) {
      const messages =
        response.headers['content-type'] === 'application/json'
          ? response.ended() && response.text() !== ''
            ? [jsonOf(response.text())]
            : []
          : response.messages();
      received.push(...messages.slice(taken.get(response) ?? 0));
      taken.set(response, messages.length);
    }
  }

  let last = Promise.resolve();
  async function post(text: string): Promise<void> {
    const response = await send(url, {
      method: 'POST',
      headers: { ...posting, ...session },
      body: text,
    });
    answers.push(response);
    const id = response.headers['mcp-session-id'];
    if (id === undefined || 'mcp-session-id' in session) return;
    session = { 'mcp-session-id': String(id), 'mcp-protocol-version': '2025-11-25' };
    const headers = { accept: 'text/event-stream', ...session };
    const standing = await send(url, { headers });
    assert.equal(standing.status, 200);
    answers.push(standing);
  }

  return {
    send(message) {
      // The first message opens the session that all later messages name.
      if ('mcp-session-id' in session) void post(textOf(message)).catch(() => {});
      else last = last.then(() => post(textOf(message)));
    },
    get received() {
      gather();
      return received;
    },
    close() {
      void last
        .then(() => send(url, { method: 'DELETE', headers: session }))
        .catch(() => {})
        .then(() => answers.forEach(response => response.cut()));
    },
  };
}

/** Opens a WebSocket, as other clients do. */
export async function openWebSocket(
  hub: Pick<TestHub, 'url'>,
  server?: string,
  protocols: readonly string[] = ['mcp'],
): Promise<RawClient & { readonly socket: WebSocket }> {
  const url = `${hub.url.replace('http', 'ws')}/mcp${pathOf(server)}`;
  const socket = new WebSocket(url, [...protocols]);
  const received: Json[] = [];
  socket.on('message', (data: Buffer, isBinary) => {
    assert.equal(isBinary, false);
    received.push(jsonOf(data.toString()));
  });
  await once(socket, 'open');
  return {
    socket,
    received,
    send: message => socket.send(textOf(message)),
    close: () => socket.close(),
  };
}

/** Requests an upgrade to WebSocket. Returns the status of the response: 101 if the hub upgrades. */
export async function upgradeStatus(
  hub: Pick<TestHub, 'url'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const outgoing = request(`${hub.url}${path}`, {
    agent: false,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  outgoing.on('response', response => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  outgoing.on('upgrade', (_response, socket) => {
    socket.destroy();
    resolve(101);
  });
  outgoing.on('error', reject).end();
  return await promise;
}

/** Opens a client of HTTP with SSE: an event stream, and POSTs to the URL in its first event. */
export async function openSse(
  hub: Pick<TestHub, 'url'>,
  server?: string,
): Promise<RawClient & { readonly stream: IncomingMessage; readonly endpoint: string }> {
  const outgoing = request(`${hub.url}/sse${pathOf(server)}`, { agent: false });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.on('response', resolve).on('error', reject).end();
  const stream = await promise;
  assert.equal(stream.headers['content-type'], 'text/event-stream');
  const received: Json[] = [];
  let endpoint = '';
  let text = '';
  stream.on('error', () => {});
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      if (name === 'endpoint') endpoint = data;
      if (name === 'message') received.push(jsonOf(data));
    }
  });
  await until(() => endpoint !== '');
  let last = Promise.resolve();
  return {
    stream,
    endpoint,
    received,
    send(message) {
      const body = textOf(message);
      last = last.then(async () => {
        const headers = { 'content-type': 'application/json' };
        await send(`${hub.url}${endpoint}`, { method: 'POST', headers, body }).catch(() => {});
      });
    },
    close: () => void last.then(() => stream.destroy()),
  };
}

type Frames = 'lines' | 'headers';

/** Creates the client's ends of stdin and stdout. */
function createPipes(frames: Frames): RawClient & { readonly streams: StdioStreams } {
  const input = new PassThrough();
  const output = new PassThrough();
  const received: Json[] = [];
  let kept = Buffer.alloc(0);

  /** Returns the next complete message; undefined if none has arrived. */
  function next(): string | undefined {
    if (frames === 'lines') {
      const end = kept.indexOf('\n');
      if (end < 0) return undefined;
      const line = kept.toString('utf8', 0, end);
      kept = kept.subarray(end + 1);
      return line;
    }
    const start = kept.indexOf('\r\n\r\n');
    if (start < 0) return undefined;
    const length = Number(/^Content-Length: (\d+)$/.exec(kept.toString('utf8', 0, start))?.[1]);
    assert.ok(length > 0, kept.toString('utf8', 0, 200));
    if (kept.length < start + 4 + length) return undefined;
    const message = kept.toString('utf8', start + 4, start + 4 + length);
    kept = kept.subarray(start + 4 + length);
    return message;
  }

  let parts: Buffer[] = [];
  output.on('data', (chunk: Buffer) => parts.push(chunk));
  return {
    streams: { input, output },
    get received() {
      kept = Buffer.concat([kept, ...parts]);
      parts = [];
      for (let text = next(); text !== undefined; text = next()) received.push(jsonOf(text));
      return received;
    },
    send(message) {
      const text = textOf(message);
      input.write(
        frames === 'lines'
          ? `${text}\n`
          : `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      );
    },
    close: () => void input.end(),
  };
}

const graceMs = 50;

/**
 * Opens a client on the hub's own stdin and stdout, as `serve --stdio` does. `server`: a server, or a profile after
 * "@".
 */
export async function openOnStdio(
  hub: TestHub,
  server: string | undefined,
  frames: Frames,
  ms = graceMs,
): Promise<RawClient & { readonly streams: StdioStreams; readonly over: Promise<string> }> {
  const pipes = createPipes(frames);
  const profile = server?.startsWith('@') ? server.slice(1) : undefined;
  const { over } = openStdio(
    pipes.streams,
    server === undefined || profile !== undefined ? 'all' : hub.server(server),
    { maxMessageBytes, graceMs: ms },
    { connections: hub.connections, clock: systemClock, profile },
  );
  return Object.assign(pipes, { over });
}

/** Opens a client that is connected by `connect-stdio`. */
export async function openOverBridge(
  hub: Pick<TestHub, 'url'>,
  server: string | undefined,
  frames: Frames,
  options: {
    readonly token?: string;
    readonly signal?: AbortSignal;
    /** Returns the jitter of a wait before the next attempt to connect, from 0 to 1. Default: 1. */
    readonly random?: () => number;
    /** Time in ms in which calls must be answered after the client has closed its end. */
    readonly graceMs?: number;
  } = {},
): Promise<RawClient & { readonly over: Promise<void>; readonly output: PassThrough }> {
  const pipes = createPipes(frames);
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const over = bridgeStdio(
    pipes.streams,
    { maxMessageBytes, graceMs: options.graceMs ?? graceMs },
    {
      async dial(on) {
        const link = await dialHub({ url: hub.url, server, token: options.token }, on, systemClock);
        resolve();
        return link;
      },
      clock: systemClock,
      random: options.random ?? (() => 1),
      log: silent,
    },
    options.signal ?? new AbortController().signal,
  );
  await Promise.race([connected, over]);
  const { output } = pipes.streams;
  assert.ok(output instanceof PassThrough);
  return Object.assign(pipes, { over, output });
}
