import type { SuspendedCall } from './suspended-call-types.ts';

/**
 * Which call of a client carries a question that is about any of them: the oldest that carries none yet, as
 * servers mostly ask in the order in which they were called.
 */
export const carrierOf = (
  calls: readonly SuspendedCall[],
  otherwise: SuspendedCall,
): SuspendedCall =>
  calls.find(({ mayAsk, isAway, isAsked }) => mayAsk && !isAway && !isAsked) ??
  calls.find(({ mayAsk, isAway }) => mayAsk && !isAway) ??
  calls.find(({ mayAsk }) => mayAsk) ??
  otherwise;
