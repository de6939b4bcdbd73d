import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HubError, moveToPages } from '#core';
import type { ByteBudget } from '#transports';
import { rawAnswer } from './unreadable.ts';

/** Shorter bodies are not counted: all connections together hold less than the budget. */
const uncountedBytes = 16 * 1024;

/** Counts the body of a request from its first byte to its last. Call it before anything reads the request. */
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
      // The client would mistake it for the answer to another request.
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

/** Answers 503 and ends the connection. */
export function refuseBusy(socket: Socket, message: string): void {
  const error = new HubError('HUB_SERVER_BUSY', message, { data: { retryable: true } });
  if (!socket.writable) return void socket.destroy();
  socket.end(rawAnswer(503, error, { 'retry-after': '1' }), () => socket.destroy());
}
