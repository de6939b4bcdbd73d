import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { PassThrough } from 'node:stream';
import { WebSocket } from 'ws';
import { silent, systemClock } from '#core';
import { type TestHub, until } from '#helpers/hub';
import { openStdio } from '#transports';

/** A connection that carries bytes both ways. */
export type Wire = {
  send(bytes: Buffer): void;
  /** What the hub is to take for one message each. */
  framesOf(bytes: Buffer): readonly Buffer[];
  close(): void;
};

export type OpenWire = (
  hub: TestHub,
  server: string | undefined,
  received: (message: Buffer) => void,
) => Promise<Wire>;

const maxMessageBytes = 4 * 1024 * 1024;
/** One agent a client would open too many connections. */
export const agent = new Agent({ keepAlive: true, maxSockets: 16 });

const pathOf = (server: string | undefined) => (server === undefined ? '' : `/${server}`);

/** Sends a POST over a connection that stays open; the head of its answer, which is still to be read. */
export async function post(
  url: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const outgoing = request(url, {
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/json',
      'content-length': String(body.length),
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.on('response', resolve).on('error', reject).end(body);
  return await promise;
}

const openWebSocket: OpenWire = async (hub, server, received) => {
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp${pathOf(server)}`, ['mcp']);
  socket.on('message', data => received(Buffer.isBuffer(data) ? data : assert.fail('no buffer')));
  await once(socket, 'open');
  // What is no text closes a WebSocket, which is no matter of messages.
  const textOf = (bytes: Buffer) => (isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('latin1')));
  return {
    send: bytes => socket.send(textOf(bytes), { binary: false }),
    framesOf: bytes => [textOf(bytes)],
    close: () => socket.terminate(),
  };
};

const openSse: OpenWire = async (hub, server, received) => {
  const outgoing = request(`${hub.url}/sse${pathOf(server)}`, { agent: false });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.on('response', resolve).on('error', reject).end();
  const stream = await promise;
  let endpoint = '';
  let rest = '';
  stream.on('error', () => {});
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event.slice(event.indexOf('data: ') + 'data: '.length);
      if (event.startsWith('event: endpoint')) endpoint = data;
      else if (event.startsWith('event: message')) received(Buffer.from(data));
    }
  });
  await until(() => endpoint !== '');
  let last = Promise.resolve();
  return {
    send(bytes) {
      last = last.then(async () => {
        const response = await post(`${hub.url}${endpoint}`, bytes);
        assert.equal(response.statusCode, 202);
        response.resume();
        await once(response, 'end');
      });
    },
    framesOf: bytes => [bytes],
    close: () => stream.destroy(),
  };
};

const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** The hub's own stdin and stdout, with messages a line each or behind headers, in chunks of any size. */
const openOnStdio =
  (hasHeaders: boolean): OpenWire =>
  async (hub, server, received) => {
    const input = new PassThrough();
    const output = new PassThrough();
    let kept = Buffer.alloc(0);
    function next(): Buffer | undefined {
      const end = kept.indexOf(hasHeaders ? '\r\n\r\n' : '\n');
      if (end < 0) return undefined;
      const start = hasHeaders ? end + 4 : 0;
      const length = hasHeaders
        ? Number(/: (\d+)$/.exec(kept.toString('latin1', 0, end))?.[1])
        : end;
      if (kept.length < start + length) return undefined;
      const message = kept.subarray(start, start + length);
      kept = kept.subarray(start + length + (hasHeaders ? 0 : 1));
      return message;
    }
    output.on('data', (chunk: Buffer) => {
      kept = Buffer.concat([kept, chunk]);
      for (let message = next(); message; message = next()) received(message);
    });
    openStdio(
      { input, output },
      server === undefined ? 'all' : hub.server(server),
      { maxMessageBytes, graceMs: 50 },
      { connections: hub.connections, clock: systemClock, log: silent },
    );
    let chunk = 1;
    function write(bytes: Buffer): void {
      for (let at = 0; at < bytes.length; at += chunk) {
        chunk = (chunk * 7 + 13) % 8_191;
        input.write(Buffer.from(bytes.subarray(at, at + chunk)));
      }
    }
    const linesOf = (bytes: Buffer) => bytes.toString('latin1').split('\n');
    return {
      send(bytes) {
        if (hasHeaders) write(Buffer.from(`Content-Length: ${bytes.length}\r\n\r\n`));
        write(bytes);
        if (!hasHeaders) write(Buffer.from('\n'));
      },
      framesOf: bytes =>
        hasHeaders
          ? [bytes].filter(({ length }) => length > 0)
          : linesOf(bytes)
              .map(line => Buffer.from(line, 'latin1'))
              .filter(line => line.some(byte => !isSpace(byte))),
      close: () => void input.end(),
    };
  };

export const wires: readonly (readonly [name: string, open: OpenWire])[] = [
  ['a WebSocket', openWebSocket],
  ['HTTP with SSE', openSse],
  ['stdio by lines', openOnStdio(false)],
  ['stdio by headers', openOnStdio(true)],
];
