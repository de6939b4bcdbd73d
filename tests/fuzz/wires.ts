import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { PassThrough } from 'node:stream';
import { WebSocket } from 'ws';
import { systemClock } from '#core';
import { type TestHub, until } from '#helpers/hub';
import { openStdio } from '#transports';
import { openPipe } from './pipe.ts';
import { replay } from './settings.ts';

/** A bidirectional connection. */
type Wire = {
  send(bytes: Buffer): void;
  /** Splits bytes into the frames that the hub must read as one message each. */
  framesOf(bytes: Buffer): readonly Buffer[];
  close(): void;
};

export type OpenWire = (
  hub: TestHub,
  server: string | undefined,
  received: (message: Buffer) => void,
) => Promise<Wire>;

const maxMessageBytes = 4 * 1024 * 1024;
const pathOf = (server: string | undefined) => (server === undefined ? '' : `/${server}`);

/** Connects over a WebSocket. */
export const openWebSocket: OpenWire = async (hub, server, received) => {
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp${pathOf(server)}`, ['mcp']);
  socket.on('message', data => received(Buffer.isBuffer(data) ? data : assert.fail('no buffer')));
  await once(socket, 'open');
  // A frame that is not UTF-8 would close the WebSocket, which is not tested here.
  const textOf = (bytes: Buffer) => (isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('latin1')));
  return {
    send: bytes => socket.send(textOf(bytes), { binary: false }),
    framesOf: bytes => [textOf(bytes)],
    close: () => socket.terminate(),
  };
};

/** Connects over HTTP with SSE: one connection for the stream, and another for POSTs. */
export const openSse: OpenWire = async (hub, server, received) => {
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
  const pipe = openPipe(hub.url);
  let isClosed = false;
  let last = Promise.resolve();
  const post = async (bytes: Buffer) => {
    try {
      const { status } = await pipe.post(endpoint, bytes, {}, message =>
        assert.fail(replay(message)),
      );
      assert.equal(status, 202, replay(bytes));
    } catch (error) {
      if (!isClosed) throw error;
    }
  };
  return {
    send(bytes) {
      // The answer to the POST is not awaited: a failure becomes an uncaught error, which the test checks.
      last = last.then(() => pipe.ready()).then(() => void (isClosed || post(bytes)));
    },
    framesOf: bytes => [bytes],
    close() {
      isClosed = true;
      pipe.close();
      stream.destroy();
    },
  };
};

const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Connects to the hub over stdio, with messages as lines or with headers, in chunks of any size. */
export const openOnStdio =
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
      { connections: hub.connections, clock: systemClock },
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
