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

/** A connection that takes nothing of an answer for this long is dropped, as its client does not read. */
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
  // Most answers have left by now. The rest is held in memory until the client reads it.
  if (response.writableLength > 0) response.setTimeout(stalledMs, () => response.destroy());
}

/** How long an answer is, in bytes. */
export function lengthOf(body: ReplyBytes): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}

/** The answers to a batch as one message. They are not made into text, which V8 has only so long. */
export function batchOf(answers: readonly ReplyBytes[]): Buffer {
  const pieces = answers.flatMap((answer, at) => [at === 0 ? opening : separator, whole(answer)]);
  return Buffer.concat([...pieces, closing]);
}

const opening = Buffer.from('[');
const separator = Buffer.from(',');
const closing = Buffer.from(']');

/** Answers with a JSON-RPC error that carries the id of the request in `body`, where there is one. */
export function refuse(
  response: HttpResponse,
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

/** What the codes of JSON-RPC errors are to HTTP (MCP 2026-07-28); all others travel with 200. */
const statusOfCode: ReadonlyMap<number, number> = new Map([
  [rpcCodes.methodNotFound, 404],
  [rpcCodes.headerMismatch, 400],
  [rpcCodes.missingCapability, 400],
  [rpcCodes.unsupportedVersion, 400],
]);

/** The HTTP status for a JSON-RPC answer of the stateless revision. */
export function statusOf(answer: Buffer): number {
  // A large result is not read again to find out that it is no error.
  if (!answer.includes('"error"')) return 200;
  const message = readMessage(answer);
  if (message.kind !== 'answer' || !message.failed) return 200;
  const code = membersOf(message.bytes, message.payload)?.get('code');
  return (code && statusOfCode.get(Number(rawText(message.bytes, code)))) ?? 200;
}
