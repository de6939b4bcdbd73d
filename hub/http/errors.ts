import { type JsonObject, type Kind, HubError, kindOf, messageOf } from '#core';

const statusOfKind: Readonly<Record<Kind, number>> = {
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

/** The HTTP status of any thrown value. */
export function statusOf(error: unknown): number {
  return statusOfKind[kindOf(error)];
}

/** The body of an error answer of the REST API. */
export function problemOf(error: unknown): JsonObject {
  const code = error instanceof HubError ? error.code : 'HUB_INTERNAL';
  const data = error instanceof HubError ? error.data : {};
  return {
    error: { code, message: messageOf(error), ...JSON.parse(JSON.stringify(data)) },
  };
}
