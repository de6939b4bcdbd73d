import { type Code, HubError, messageOf } from '#core';
import type { FailureKind, ModelFailure } from '../failure.ts';

const codes: { readonly [kind in FailureKind]?: Code } = {
  missing: 'HUB_MODEL_UNKNOWN',
  too_long: 'HUB_CONTEXT_FULL',
  cancelled: 'HUB_CALL_CANCELLED',
};

/** Kinds of failure after which a retry may succeed. After a `timeout`, the request has no time left for one. */
const passing: readonly FailureKind[] = [
  'unreachable',
  'busy',
  'queue',
  'empty',
  'cut',
  'malformed',
  'breaker_open',
];

/** Converts the failure of a chat to a HubError. `kind` of its data is the kind of the failure. */
export function hubErrorOf(failure: ModelFailure): HubError {
  const { kind, model, retryAfterMs } = failure;
  return new HubError(codes[kind] ?? 'HUB_MODEL_FAILED', messageOf(failure), {
    cause: failure,
    data: {
      kind,
      ...(model !== undefined && { model }),
      ...(passing.includes(kind) && { retryable: true }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    },
  });
}
