import { HubError } from '#core';

/**
 * Resolves when the signal aborts, at once where it has; not at all once it is disposed. A signal that lives
 * longer than the wait keeps alive all that waits for it, and what that waits for besides: to be disposed.
 */
export function untilAborted(
  signal: AbortSignal,
): Disposable & { readonly aborted: Promise<undefined> } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end);
  return {
    aborted: promise,
    [Symbol.dispose]: () => signal.removeEventListener('abort', end),
  };
}

/** The work's result, unless the start is given up first: by a stop, or because it took too long. */
export async function within<T>(
  work: Promise<T>,
  stopping: AbortSignal,
  deadline?: AbortSignal,
): Promise<T> {
  using stop = untilAborted(stopping);
  using end = deadline && untilAborted(deadline);
  const stopped = stop.aborted.then(() => {
    throw new HubError('HUB_SERVER_STOPPED', 'it was stopped while it started');
  });
  const late = end?.aborted.then(() => {
    throw lateStart();
  });
  return await Promise.race(late ? [work, late, stopped] : [work, stopped]);
}

/** A server took longer than its `start_timeout`. */
export const lateStart = (cause?: unknown): HubError =>
  new HubError(
    'HUB_SERVER_START_FAILED',
    'it did not answer initialize and its lists in time. Raise "start_timeout" if it needs longer',
    { cause },
  );
