import { HubError, isObject } from '#core';

/** Throws HUB_REQUEST_INVALID if a request has a body that its route does not take. */
export function refuseBody(body: unknown, what: string): void {
  if (!isObject(body) || Object.keys(body).length === 0) return;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `${what} takes no body; it had ${Object.keys(body).join(', ')}`,
  );
}
