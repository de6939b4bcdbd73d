import { type ErrorKind, HubError, kindOf, messageOf } from '#core';

/** Creates the error for a refused call. `what` completes the sentence "the broker does not admit ...". */
export const refusal = (what: string) =>
  new HubError('HUB_BROKER_REFUSED', `the broker does not admit ${what}`);

/** Formats a value for messages: as JSON without control characters, at most 120 characters. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 120 ? `${text.slice(0, 120)}...` : text;
}

/**
 * Creates the engine's error for a missing object, which is also returned for objects of other owners, to hide their
 * existence.
 */
export const unknownObject = (kind: string, name: string) =>
  new HubError('HUB_BROKER_UNKNOWN', `no such ${kind}: ${name}`);

/** Creates the error for an unusable response of the engine. `what` completes "the engine did not". */
export const unanswered = (what: string, status: number) =>
  new HubError('HUB_ENGINE_REFUSED', `the engine did not ${what} (status ${status})`);

/**
 * Returns the HTTP status and message for a failed request. Details of a bug go only to the log. With 502 the hub counts
 * the engine as unreachable, so an engine that answers with an error gives 500.
 */
export function errorResponseOf(error: unknown) {
  const kind = kindOf(error);
  const message =
    kind === 'internal' ? 'internal error of the broker; see its log' : messageOf(error);
  const isAnswered = error instanceof HubError && error.code === 'HUB_ENGINE_REFUSED';
  return { status: isAnswered ? 500 : (statuses[kind] ?? 500), message };
}

const statuses: { readonly [kind in ErrorKind]?: number } = {
  invalid: 400,
  forbidden: 403,
  not_found: 404,
  too_large: 413,
  unavailable: 502,
};
