import { stalledMs } from './answer.ts';
import type { HttpResponse } from './http-message.ts';

/** A connection with more unsent bytes is dropped together with its request. */
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

/** Begins a stream of server-sent events. Its head and its first event are one write. */
export function beginEvents(response: HttpResponse): void {
  response.writeHead(200, headers);
  // Comments reset the timeout, unless the client does not read them.
  response.setTimeout(stalledMs, () => response.destroy());
}

/** Sends one message. Events have no ids, because streams of MCP 2026-07-28 cannot be resumed. */
export function sendEvent(response: HttpResponse, message: Buffer): void {
  if (response.writableLength > maxUnsentBytes) response.destroy();
  else response.write(eventOf(message));
}

/** Sends the last message and ends the stream, in one write. */
export function sendLastEvent(response: HttpResponse, message: Buffer): void {
  response.end(eventOf(message));
}

/** Sends a comment, so that proxies keep the connection open. */
export function sendComment(response: HttpResponse): void {
  response.write(comment);
}
