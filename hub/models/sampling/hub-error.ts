import { type Code, HubError, messageOf } from '#core';
import { type FailureKind, ModelFailure } from '../failure.ts';

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

/** Converts a ModelFailure to a HubError. `kind` of its data is the kind of the failure. Returns other errors as is. */
export function hubErrorOf(error: unknown): unknown {
  if (!(error instanceof ModelFailure)) return error;
  const { kind, model, retryAfterMs } = error;
  return new HubError(codes[kind] ?? 'HUB_MODEL_FAILED', messageOf(error), {
    cause: error,
    data: {
      kind,
      ...(model !== undefined && { model }),
      ...(passing.includes(kind) && { retryable: true }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    },
  });
}
