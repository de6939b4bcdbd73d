import { type Code, HubError, messageOf } from '#core';
import type { FailureKind, ModelFailure } from '../failure.ts';

const codes: { readonly [kind in FailureKind]?: Code } = {
  missing: 'HUB_MODEL_UNKNOWN',
  too_long: 'HUB_CONTEXT_FULL',
  cancelled: 'HUB_CALL_CANCELLED',
};

/** Failures after which the same request may succeed. A timeout has used its time already. */
const passing: readonly FailureKind[] = [
  'unreachable',
  'busy',
  'queue',
  'empty',
  'cut',
  'malformed',
  'breaker_open',
];

/** The error of the hub for a failed chat. Its data has `kind`, the kind of the failure. */
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
