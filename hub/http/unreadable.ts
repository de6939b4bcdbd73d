import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HubError, http, isObject, moveToPages, retryable } from '#core';
import type { ByteBudget } from '#transports';
import { problemOf } from './errors.ts';

/** Status and message by error code of Node's HTTP parser. Any other error is answered with 400. */
const statuses: ReadonlyMap<string, readonly [status: number, message: string]> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    [
      431,
      `the path and the headers of the request are larger than the hub takes: ${http.maxHeaderSize} bytes`,
    ],
  ],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'the chunk extensions are larger than the hub takes']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'the request did not arrive in time. Send it again']],
]);

/** Answers a malformed or late request, and ends the connection. */
export function refuseUnreadable(error: Error & { readonly code?: string }, socket: Duplex): void {
  // An answer has begun, or the client has reset the connection.
  if (error.code === 'ECONNRESET' || isAnswering(socket)) return void socket.destroy();
  const unknown = `the request is not HTTP that the hub can read (${error.message})`;
  const [status, message] = statuses.get(error.code ?? '') ?? [400, unknown];
  refuse(socket, status, new HubError('HUB_REQUEST_INVALID', message));
}

/** Answers 503 on a connection, and ends the connection. */
export function refuseBusy(socket: Duplex, message: string): void {
  refuse(socket, 503, retryable('HUB_SERVER_BUSY', message), ['retry-after: 1']);
}

/**
 * Answers 403 to the first bytes on a connection, without reading them as a request, and ends it. If no bytes arrive,
 * ends it after `waitMs`.
 */
export function refuseConnection(socket: Socket, message: string, waitMs: number): void {
  socket.on('error', () => socket.destroy());
  socket.setTimeout(waitMs, () => socket.destroy());
  socket.once('data', () => refuse(socket, 403, new HubError('HUB_REQUEST_INVALID', message)));
}

/** Writes an answer to a connection that has no request for Node to answer, and ends the connection. */
function refuse(
  socket: Duplex,
  status: number,
  error: HubError,
  headers: readonly string[] = [],
): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify(problemOf(error));
  const lines = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...headers,
    '',
    body,
  ];
  socket.end(lines.join('\r\n'), () => socket.destroy());
}

/** True if an answer on this connection has begun and not ended. */
function isAnswering(socket: Duplex): boolean {
  const answer = answerOn(socket);
  return isObject(answer) && answer['headersSent'] === true;
}

/** True if a request of this connection is not answered yet. */
export const isAnswerDue = (socket: Duplex): boolean => isObject(answerOn(socket));

const answerOn = (socket: Duplex): unknown =>
  '_httpMessage' in socket ? socket._httpMessage : undefined;

/**
 * Size in bytes below which a body is not counted: such bodies of all connections together need less than the budget.
 */
const uncountedBytes = 16 * 1024;

/** Counts the bytes of a request's body in a budget. Call this before anything reads the request. */
export function countBody(
  request: IncomingMessage,
  response: ServerResponse,
  budget: ByteBudget,
): void {
  const { headers, socket } = request;
  const length = Number(headers['content-length'] ?? 0);
  if (headers['transfer-encoding'] === undefined && !(length > uncountedBytes)) return;
  let bytes = 0;
  let isPaused = false;
  const held = budget.hold({
    bytes: () => bytes,
    pause() {
      isPaused = true;
      request.pause();
    },
    resume() {
      isPaused = false;
      request.resume();
    },
    drop(reason) {
      // A client would mistake this answer for the answer to another request.
      if (response.socket === socket && !response.headersSent) refuseBusy(socket, reason);
      else socket.destroy();
    },
  });
  const push = request.push.bind(request);
  // Node's parser calls this with each chunk, and with null at the end.
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) held[Symbol.dispose]();
    else {
      bytes += chunk.length;
      budget.added(chunk.length);
    }
    if (socket.destroyed) return false;
    const takesMore = push(chunk && moveToPages(chunk));
    // A paused request would otherwise read until its buffer is full.
    return takesMore && !isPaused;
  };
  request.once('close', () => held[Symbol.dispose]());
}
