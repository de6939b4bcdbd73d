import { stalledMs } from './answer.ts';
import type { HttpResponse } from './http-message.ts';

/** A connection with more than this unsent is dropped, and its request with it. */
export const maxUnsentBytes = 64 * 1024 * 1024;

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

const head = Buffer.from('data: ');
const end = Buffer.from('\n\n');
const comment = ': keep-alive\n\n';

const eventOf = (message: Buffer) => Buffer.concat([head, message, end]);

/** Begins a stream of server-sent events, whose first event goes out in one write with the head. */
export function beginEvents(response: HttpResponse): void {
  response.writeHead(200, headers);
  // Comments count as movement, unless they wait for a client that does not read.
  response.setTimeout(stalledMs, () => response.destroy());
}

/**
 * Sends one message. The events have no ids: MCP 2026-07-28 knows no resuming, and a client that lost
 * the connection asks again.
 */
export function sendEvent(response: HttpResponse, message: Buffer): void {
  if (response.writableLength > maxUnsentBytes) response.destroy();
  else response.write(eventOf(message));
}

/** Sends the last message and ends the stream, in one write. */
export function sendLastEvent(response: HttpResponse, message: Buffer): void {
  response.end(eventOf(message));
}

/** A comment, by which proxies and sockets see that the stream is alive. */
export function sendComment(response: HttpResponse): void {
  response.write(comment);
}
