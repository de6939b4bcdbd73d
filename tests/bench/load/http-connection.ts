import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

export type Reply = { readonly status: number; readonly head: string; readonly body: Buffer };

/** A keep-alive connection for one request at a time, with as little work per request as HTTP allows. */
export type HttpConnection = {
  post(headers: string, body: string, done: (reply: Reply) => void): void;
  close(): void;
};

const headEnd = Buffer.from('\r\n\r\n');

export async function openConnection(
  url: URL,
  accept = 'application/json, text/event-stream',
): Promise<HttpConnection> {
  const socket: Socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
  await once(socket, 'connect');
  const first = `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\naccept: ${accept}\r\n`;
  let chunks: Buffer[] = [];
  let received = 0;
  /** Number of bytes received before which parsing again is useless. */
  let needed = 0;
  let waiting: ((reply: Reply) => void) | undefined;

  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    received += chunk.length;
    if (received < needed) return;
    const bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    chunks = [bytes];
    const parsed = parse(bytes);
    if (typeof parsed === 'number') {
      needed = parsed;
      return;
    }
    chunks = [];
    received = 0;
    needed = 0;
    const done = waiting;
    waiting = undefined;
    done?.(parsed);
  });
  socket.on('close', () => waiting?.({ status: 0, head: '', body: Buffer.alloc(0) }));
  socket.on('error', () => {});

  return {
    post(headers, body, done) {
      waiting = done;
      socket.write(`${first}${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    },
    close: () => void socket.destroy(),
  };
}

/** Returns the reply, or the number of bytes that are needed before the next attempt. */
function parse(bytes: Buffer): Reply | number {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return 0;
  const head = bytes.toString('latin1', 0, end);
  const from = end + headEnd.length;
  const status = Number(head.slice(9, 12));
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const whole = from + Number(length);
    return bytes.length < whole ? whole : { status, head, body: bytes.subarray(from, whole) };
  }
  if (!/\r\ntransfer-encoding: chunked/i.test(head))
    return { status, head, body: bytes.subarray(from) };
  return bytes.subarray(-5).equals(lastChunk) ? { status, head, body: unchunk(bytes, from) } : 0;
}

const lastChunk = Buffer.from('0\r\n\r\n');

function unchunk(bytes: Buffer, from: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
