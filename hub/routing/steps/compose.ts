import type { Answerer, Step } from '../call.ts';

/** Composes the steps into one function, the first outermost. Absent steps cost nothing. */
export function compose(steps: readonly (Step | undefined)[], last: Answerer): Answerer {
  return steps.reduceRight<Answerer>(
    (next, step) => (step ? call => step(call, next) : next),
    last,
  );
}
