import { HubError } from '#core';

/** Resolves when the signal aborts, at once where it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** The work's result, unless the start is given up first: by a stop, or because it took too long. */
export async function within<T>(
  work: Promise<T>,
  stopping: AbortSignal,
  deadline?: AbortSignal,
): Promise<T> {
  const late =
    deadline &&
    aborted(deadline).then(() => {
      throw lateStart();
    });
  const stopped = aborted(stopping).then(() => {
    throw new HubError('HUB_SERVER_STOPPED', 'it was stopped while it started');
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
