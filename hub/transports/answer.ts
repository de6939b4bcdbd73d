import { Buffer } from 'node:buffer';
import {
  type ReplyBytes,
  encodeError,
  membersOf,
  rawText,
  readMessage,
  rpcCodes,
  whole,
} from '#jsonrpc';
import type { HttpResponse } from './http-message.ts';

/** A connection that accepts no bytes of an answer for this long is dropped. */
export const stalledMs = 60_000;

/** One JSON body, in one write. */
export function sendJson(
  response: HttpResponse,
  status: number,
  body: ReplyBytes,
  headers?: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': lengthOf(body),
    ...headers,
  });
  if (Buffer.isBuffer(body)) response.end(body);
  else {
    response.cork();
    for (const piece of body) response.write(piece);
    response.end();
    response.uncork();
  }
  // Most answers are sent by now. The others stay in memory until the client reads them.
  if (response.writableLength > 0) response.setTimeout(stalledMs, () => response.destroy());
}

/** Length of an answer in bytes. */
export function lengthOf(body: ReplyBytes): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}

/** The answers to a batch as one message. Not built as a string, whose length V8 limits. */
export function batchOf(answers: readonly ReplyBytes[]): Buffer {
  const pieces = answers.flatMap((answer, at) => [at === 0 ? opening : separator, whole(answer)]);
  return Buffer.concat([...pieces, closing]);
}

const opening = Buffer.from('[');
const separator = Buffer.from(',');
const closing = Buffer.from(']');

/** Answers with a JSON-RPC error that has the id of the request in `body`. */
export function refuse(
  response: HttpResponse,
  status: number,
  code: number,
  message: string,
  body?: Buffer,
): void {
  sendJson(response, status, encodeError(idOf(body), code, message));
}

/** The id of the single request in a body, as JSON text; `null` for any other body. */
export function idOf(body: Buffer | undefined): string {
  if (!body || body.length === 0) return 'null';
  const message = readMessage(body);
  return message.kind === 'request' ? rawText(message.bytes, message.id) : 'null';
}

/** HTTP status of JSON-RPC error codes (MCP 2026-07-28); 200 for all others. */
const statusOfCode: ReadonlyMap<number, number> = new Map([
  [rpcCodes.methodNotFound, 404],
  [rpcCodes.headerMismatch, 400],
  [rpcCodes.missingCapability, 400],
  [rpcCodes.unsupportedVersion, 400],
]);

/** The HTTP status for a JSON-RPC answer of the stateless revision. */
export function statusOf(answer: Buffer): number {
  // Avoids parsing large results.
  if (!answer.includes('"error"')) return 200;
  const message = readMessage(answer);
  if (message.kind !== 'answer' || !message.failed) return 200;
  const code = membersOf(message.bytes, message.payload)?.get('code');
  return (code && statusOfCode.get(Number(rawText(message.bytes, code)))) ?? 200;
}
