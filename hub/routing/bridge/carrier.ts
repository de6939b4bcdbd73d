import type { SuspendedCall } from './suspended-call-types.ts';

/**
 * The call that carries a server's question if the question could belong to any call of the client. The oldest call
 * without a question carries it, because servers mostly ask in the order of the calls.
 */
export const carrierOf = (
  calls: readonly SuspendedCall[],
  otherwise: SuspendedCall,
): SuspendedCall =>
  calls.find(({ mayAsk, isAway, hasOpenRequest }) => mayAsk && !isAway && !hasOpenRequest) ??
  calls.find(({ mayAsk, isAway }) => mayAsk && !isAway) ??
  calls.find(({ mayAsk }) => mayAsk) ??
  otherwise;
