import { type Kind, HubError, kindOf, messageOf } from '#core';

/** An error that says what the broker does not admit, in words that end "the broker does not admit ...". */
export function refusal(what: string): HubError {
  return new HubError('HUB_BROKER_REFUSED', `the broker does not admit ${what}`);
}

/** What the engine would say of an object that is not there: whether it exists is nobody's business. */
export function unknownObject(kind: string, name: string): HubError {
  return new HubError('HUB_BROKER_UNKNOWN', `no such ${kind}: ${name}`);
}

/** How a failed request is answered: in the engine's own form, and nothing of a bug but that there is one. */
export function answerTo(error: unknown): { readonly status: number; readonly message: string } {
  const kind = kindOf(error);
  const message =
    kind === 'internal' ? 'internal error of the broker; see its log' : messageOf(error);
  return { status: statuses[kind] ?? 500, message };
}

const statuses: { readonly [kind in Kind]?: number } = {
  invalid: 400,
  forbidden: 403,
  not_found: 404,
  too_large: 413,
  unavailable: 502,
};
