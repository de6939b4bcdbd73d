import type { Duplex } from 'node:stream';
import { HubError, http, isObject } from '#core';
import { problemOf } from './errors.ts';

/** Status and message for errors of Node's HTTP parser; 400 for all others. */
const statuses: ReadonlyMap<string, readonly [status: number, message: string]> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    [431, `the head of the request is larger than the hub takes: ${http.maxHeaderSize} bytes`],
  ],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'the chunk extensions are larger than the hub takes']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'the request did not arrive in time. Send it again']],
]);

/** Answers a malformed or late request, and ends the connection. */
export function refuseUnreadable(error: Error & { readonly code?: string }, socket: Duplex): void {
  // An answer has begun, or the client reset the connection.
  if (!socket.writable || error.code === 'ECONNRESET' || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const [status, message] = statuses.get(error.code ?? '') ?? [
    400,
    `the request is no HTTP that the hub can read (${error.message})`,
  ];
  socket.end(rawAnswer(status, new HubError('HUB_REQUEST_INVALID', message)), () =>
    socket.destroy(),
  );
}

/** An answer as text, for a connection without a request that Node could answer. */
export function rawAnswer(
  status: number,
  problem: HubError,
  headers: Readonly<Record<string, string>> = {},
): string {
  const body = JSON.stringify(problemOf(problem));
  return [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');
}

/** Whether an answer on this connection has begun and not ended. */
function isAnswering(socket: Duplex): boolean {
  const answer = answerOn(socket);
  return isObject(answer) && answer['headersSent'] === true;
}

/** Whether a request of this connection is not answered yet. */
export const isAnswerDue = (socket: Duplex): boolean => isObject(answerOn(socket));

/** The response that Node sends on a connection now or next. */
const answerOn = (socket: Duplex): unknown =>
  '_httpMessage' in socket ? socket._httpMessage : undefined;
