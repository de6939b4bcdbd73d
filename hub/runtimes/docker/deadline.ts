import type { Clock } from '#core';

/** How long a piece of work may take, and what else ends it. */
export type Bound = { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined };

/** The reason with which work that took too long is aborted. */
export class Overdue extends Error {
  override readonly name = 'Overdue';
}

/**
 * Runs work that is aborted after a time, or with the signal. Rejects with the abort's reason at
 * once, whether or not the work heeds its signal.
 */
export async function within<T>(
  clock: Clock,
  bound: Bound,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const overdue = new AbortController();
  const signal = bound.signal ? AbortSignal.any([overdue.signal, bound.signal]) : overdue.signal;
  signal.throwIfAborted();
  using _timer = clock.after(bound.timeoutMs, () =>
    overdue.abort(new Overdue(`no answer within ${bound.timeoutMs} ms`)),
  );
  using end = rejectOnAbort(signal);
  return await Promise.race([work(signal), end.aborted]);
}

/** Resolves after a time, or at once when the signal aborts. */
export async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  using _timer = clock.after(delayMs, resolve);
  const end = () => resolve();
  signal.addEventListener('abort', end);
  await promise;
  signal.removeEventListener('abort', end);
}

/**
 * Rejects with the signal's reason once it aborts; not at all once it is disposed. A signal that
 * lives longer than the wait keeps alive all that waits for it: to be disposed.
 */
export function rejectOnAbort(
  signal: AbortSignal,
): Disposable & { readonly aborted: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = () => reject(signal.reason);
  if (signal.aborted) fail();
  else signal.addEventListener('abort', fail);
  return {
    aborted: promise,
    [Symbol.dispose]: () => signal.removeEventListener('abort', fail),
  };
}
