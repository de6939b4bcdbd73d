import { type Clock, type ErrorKind, type Json, type Log, isCode } from '#core';
import { HubError, codes, isObject, kindOf, messageOf } from '#core';
import { readMessage, valueOf } from '#jsonrpc';

const statusOfKind: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  overloaded: 503,
  unavailable: 503,
  timeout: 504,
  cancelled: 499,
  internal: 500,
};

/** Returns the HTTP status of any thrown value. */
export const statusOf = (error: unknown): number => statusOfKind[kindOf(error)];

/**
 * Returns the HTTP status and headers of a JSON-RPC answer: of the hub's error in it, or 200 for an answer of a
 * server.
 */
export function headOfAnswer(bytes: Buffer) {
  const message = readMessage(bytes);
  if (message.kind !== 'answer' || !message.failed) return { status: 200 };
  const error = valueOf(bytes, message.payload);
  const data = isObject(error) && isObject(error['data']) ? error['data'] : {};
  const { code } = data;
  if (!isCode(code)) return { status: 200 };
  return { status: statusOfKind[codes[code]], headers: retryAfter(data) };
}

/** Returns the header Retry-After, if the time is known. */
export const retryAfter = ({ retryAfterMs: ms }: { readonly retryAfterMs?: unknown }) =>
  typeof ms === 'number' ? { 'retry-after': String(Math.ceil(ms / 1000)) } : {};

type Problem = {
  readonly error: { readonly code: string; readonly message: string; readonly [key: string]: Json };
};

export function problemOf(error: unknown): Problem {
  const { code, data } = error instanceof HubError ? error : { code: 'HUB_INTERNAL', data: {} };
  const message = messageOf(error);
  return { error: { code, message, ...JSON.parse(JSON.stringify(data)) } };
}

export type HttpSystem = {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
};

/** Returns the body of an error answer. Logs an unexpected error; the body then has the id of the log line. */
export function reportOf(error: unknown, url: string, { log, newId }: HttpSystem): Problem {
  if (error instanceof HubError) return problemOf(error);
  const id = newId();
  const details = error instanceof Error ? error.stack : String(error);
  log.error({ request: id, url, error: details }, 'a request failed');
  const message = `the hub failed; its log says why under ${id}`;
  return { error: { code: 'HUB_INTERNAL', message, id } };
}
