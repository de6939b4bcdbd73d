import type { ReplyBytes } from '#jsonrpc';
import { type Answerer, type ResolvedCall, type Step, invalidRequest } from './call.ts';
import { listenMethod } from './steps/observe.ts';

/**
 * Answers each call exactly once, and registers it in its session while it is being answered. `steps` must neither
 * throw nor reject.
 */
export function createAnswering(steps: Answerer) {
  let answering = 0;

  return {
    answer(resolved: ResolvedCall): Promise<ReplyBytes> {
      const { id, session, cancellation, request } = resolved.call;
      const { inFlight } = session;
      const replied = steps(resolved);
      if (!(replied instanceof Promise)) return Promise.resolve(replied.bytes);
      inFlight.set(id, cancellation);
      const count = request.method === listenMethod ? 0 : 1;
      answering += count;
      return replied.then(({ bytes }) => {
        answering -= count;
        inFlight.delete(id);
        return bytes;
      });
    },
    /** Requests that are being answered, without open subscription streams. */
    get inFlight() {
      return answering;
    },
  };
}

/** Refuses a request whose id is in use by another of its session. Must be a step before those that wait. */
export const refuseDuplicate: Step = (resolved, next) => {
  const { id, session } = resolved.call;
  if (session.inFlight.has(id))
    throw invalidRequest(`the id ${id} is in use by a request in flight`);
  return next(resolved);
};

/** Composes the steps into one function, the first outermost. Absent steps cost nothing. */
export function compose(steps: readonly (Step | undefined)[], last: Answerer): Answerer {
  return steps.reduceRight<Answerer>(
    (next, step) => (step ? call => step(call, next) : next),
    last,
  );
}
