import { HubError } from '#core';
import { errorAnswer } from '#jsonrpc';
import { sendJson } from './answer.ts';
import type { HttpResponse } from './http-message.ts';

/** What a hub that is told to stop says to whoever wants more of it. */
export const stopping = () =>
  new HubError('HUB_SHUTTING_DOWN', 'the hub is stopping', { data: { retryable: true } });

/** What a client gets while so many requests are answered that there is no room for its own. */
export const busy = (count: number) =>
  new HubError('HUB_SERVER_BUSY', `${count} requests are unanswered. Try again later`, {
    data: { retryable: true },
  });

/** When to try again, in seconds: a hub that is restarted is back by then. */
export const retryAfterSeconds = 5;

/** Answers 503 to a request whose id is given as JSON text, and says when to try again. */
export function sendUnavailable(response: HttpResponse, id: string, error: unknown): void {
  sendJson(response, 503, errorAnswer(id, error), { 'retry-after': String(retryAfterSeconds) });
}
