import { HubError } from '#core';
import { errorAnswer } from '#jsonrpc';
import { sendJson } from './answer.ts';
import type { HttpResponse } from './http-message.ts';

/** The refusal of a request while the hub stops. */
export const stopping = () =>
  new HubError('HUB_SHUTTING_DOWN', 'the hub is stopping', { data: { retryable: true } });

/** The refusal of a request at the maximum of unanswered requests. */
export const busy = (count: number) =>
  new HubError('HUB_SERVER_BUSY', `${count} requests are unanswered. Try again later`, {
    data: { retryable: true },
  });

/** Retry-After in seconds: a restart of the hub takes less. */
export const retryAfterSeconds = 5;

/** Answers 503 with Retry-After. `id` is the id of the request as JSON text. */
export function sendUnavailable(response: HttpResponse, id: string, error: unknown): void {
  sendJson(response, 503, errorAnswer(id, error), { 'retry-after': String(retryAfterSeconds) });
}
