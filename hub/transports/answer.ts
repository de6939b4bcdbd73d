import type { ServerResponse } from 'node:http';
import { encodeError, rawText, readMessage } from '#rpc';

/** A connection that takes nothing of an answer for this long is dropped, as its client does not read. */
export const stalledMs = 60_000;

/** One JSON body, in one write. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers?: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': body.length,
    ...headers,
  });
  response.end(body);
  // Most answers have left by now. The rest is held in memory until the client reads it.
  if (response.writableLength > 0) response.setTimeout(stalledMs, () => response.destroy());
}

/** Answers with a JSON-RPC error that carries the id of the request in `body`, where there is one. */
export function refuse(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
  body?: Buffer,
): void {
  sendJson(response, status, encodeError(idOf(body), code, message));
}

/** The id of the one request that the body of a POST is, as JSON text; `null` for anything else. */
export function idOf(body: Buffer | undefined): string {
  if (!body || body.length === 0) return 'null';
  const message = readMessage(body);
  return message.kind === 'request' ? rawText(message.bytes, message.id) : 'null';
}
