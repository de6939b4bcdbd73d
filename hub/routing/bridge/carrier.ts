import type { SuspendedCall } from './suspended-call-types.ts';

/**
 * Returns the call on which to send a server's question that may belong to any call of the client: preferably the
 * oldest call without an open question, because servers mostly ask in the order of the calls.
 */
export const carrierOf = (
  calls: readonly SuspendedCall[],
  otherwise: SuspendedCall,
): SuspendedCall =>
  calls.find(({ mayAsk, isAway, hasOpenRequest }) => mayAsk && !isAway && !hasOpenRequest) ??
  calls.find(({ mayAsk, isAway }) => mayAsk && !isAway) ??
  calls.find(({ mayAsk }) => mayAsk) ??
  otherwise;
