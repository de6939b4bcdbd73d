import type { Clock } from '#core';

/** What was waited for did not come in time. */
export class Overdue extends Error {
  override readonly name = 'Overdue';
}

/**
 * What `work` comes to, or an `Overdue` after so many milliseconds, also where it pays no heed to its signal.
 * Rejects with the reason of `signal` once that is aborted.
 */
export async function within<T>(
  milliseconds: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const lifetime = new AbortController();
  const end = (reason: unknown) => {
    lifetime.abort(reason);
    ended.reject(reason);
  };
  const leave = () => end(signal.reason);
  using _timer = clock.after(milliseconds, () =>
    end(new Overdue(`did not come within ${Math.round(milliseconds)} ms`)),
  );
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work(lifetime.signal), ended.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
