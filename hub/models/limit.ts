import type { Clock } from '#core';
import type { ModelFailure } from './failure.ts';

/** A stretch of work that ends with the signals above it, or when its time is over. */
export interface Limit extends Disposable {
  /** Aborted with what the signal above was aborted with, or with the failure of being late. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

/** A limit of some milliseconds, or of none; it is to be disposed, for what is above lives longer. */
export function createLimit(
  above: readonly AbortSignal[],
  time:
    { readonly clock: Clock; readonly ms: number; readonly late: () => ModelFailure } | undefined,
): Limit {
  const controller = new AbortController();
  const pass = (event: Event) => {
    if (event.target instanceof AbortSignal) controller.abort(event.target.reason);
  };
  const timer = time?.clock.after(Math.max(0, time.ms), () => controller.abort(time.late()));
  for (const signal of above) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener('abort', pass);
  }
  return {
    signal: controller.signal,
    abort: reason => controller.abort(reason),
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      for (const signal of above) signal.removeEventListener('abort', pass);
    },
  };
}

/** The work's result, unless the signal is aborted first. The work goes on by itself. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end);
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
