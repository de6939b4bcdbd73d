import { type Clock, HubError, untilAborted } from '#core';

/** Rejects with HUB_SERVER_STOPPED once `stopping` aborts, and with HUB_SERVER_START_FAILED after `limitMs`. */
export async function duringStart<T>(
  work: Promise<T>,
  stopping: AbortSignal,
  deadline?: { readonly clock: Pick<Clock, 'after'>; readonly limitMs: number },
): Promise<T> {
  using stop = untilAborted(stopping);
  const stopped = stop.aborted.then(() => {
    throw new HubError('HUB_SERVER_STOPPED', 'it was stopped while it started');
  });
  const late = Promise.withResolvers<never>();
  using _timer = deadline?.clock.after(deadline.limitMs, () => late.reject(lateStart()));
  return await Promise.race([work, late.promise, stopped]);
}

/** A server took longer than its `start_timeout`. */
export const lateStart = (cause?: unknown): HubError =>
  new HubError(
    'HUB_SERVER_START_FAILED',
    'it did not answer initialize and its lists in time. Raise "start_timeout" if it needs longer',
    { cause },
  );
