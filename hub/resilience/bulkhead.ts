import { type Clock, HubError, createAbortScope, createFairQueue } from '#core';

type BulkheadLimits = {
  /** Maximum number of concurrent calls: `max_concurrent_calls`. */
  readonly maxConcurrent: number;
  /** Maximum number of calls that wait in addition: `max_queued_calls`. */
  readonly maxQueued: number;
};

type BulkheadSnapshot = { readonly active: number; readonly queued: number };

/** Suggested retry delay in ms. An estimate, because it is unknown when the current calls end. */
const retryAfterMs = 1_000;
const raiseEither = 'raise its max_concurrent_calls or max_queued_calls';

type Waiting = { readonly admit: () => void; readonly refuse: (error: HubError) => void };

/** Limits the concurrent calls to one server. Further calls wait in a bounded and fair queue. */
export function createBulkhead(
  { server, ...limits }: BulkheadLimits & { readonly server: string },
  clock: Clock,
) {
  let { maxConcurrent, maxQueued } = limits;
  const waiting = createFairQueue<Waiting>();
  let active = 0;

  /** Takes a free slot; returns false if there is none. `leave` releases it. Allocates nothing. */
  function enter(): boolean {
    if (active >= maxConcurrent) return false;
    active += 1;
    return true;
  }

  /** Makes room in a full queue for a call of the owner `key`. Returns false if no other owner has a longer queue. */
  function makeRoom(key: string): boolean {
    const newest = waiting.newestOfLongest(key);
    newest?.refuse(busy(`${full()}, of which this client has the most`, raiseEither));
    return newest !== undefined;
  }

  const cancelled = () =>
    new HubError('HUB_CALL_CANCELLED', `the call waited for server "${server}" and was cancelled`);

  const full = () =>
    `has ${active} calls under way and ${waiting.length} waiting, which is its limit`;

  function busy(why: string, remedy: string): HubError {
    const data = { server, retryable: true, retryAfterMs, maxConcurrent, maxQueued };
    const message = `server "${server}" ${why}: try again later, or ${remedy}`;
    return new HubError('HUB_SERVER_BUSY', message, { data });
  }

  /**
   * Waits for a slot if `enter` found none; `leave` releases it. Owners take turns, so that a single call does not wait
   * behind a thousand calls of another owner. Rejects with HUB_SERVER_BUSY if the queue is full or after `deadlineMs`,
   * and with HUB_CALL_CANCELLED when `signal` aborts. In a full queue, a call replaces the newest call of the owner
   * with the longest queue if its own queue stays shorter, so that all owners get equal shares.
   */
  async function wait(key: string, deadlineMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw cancelled();
    if (enter()) return;
    if (waiting.length >= maxQueued && !makeRoom(key)) throw busy(full(), raiseEither);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const scope = createAbortScope(signal ? [signal] : [], { clock, limitMs: deadlineMs });
    // Leaves the queue in the same turn of the event loop, so that an admitted call can no longer be refused.
    const settle = (outcome: () => void) => {
      leaveQueue();
      scope[Symbol.dispose]();
      outcome();
    };
    const refuse = (error: HubError) => settle(() => reject(error));
    const leaveQueue = waiting.append(key, { admit: () => settle(resolve), refuse });
    const late = () =>
      busy(
        `had none of its ${maxConcurrent} places free for ${deadlineMs} ms`,
        'raise its max_concurrent_calls',
      );
    scope.signal.addEventListener('abort', () => refuse(signal?.aborted ? cancelled() : late()));
    return promise;
  }

  return {
    snapshot: (): BulkheadSnapshot => ({ active, queued: waiting.length }),
    enter,
    wait,
    /** Changes the limits. Waiting calls stay in the queue, and are admitted if the new limits allow it. */
    configure(next: BulkheadLimits): void {
      ({ maxConcurrent, maxQueued } = next);
      while (waiting.length > 0 && enter()) waiting.take()?.admit();
    },
    /** Releases a slot, or passes it to the next waiting call. */
    leave(): void {
      // After the limit was lowered, more calls may be active than there are slots.
      const next = active > maxConcurrent ? undefined : waiting.take();
      // The slot is not free in between, so no new call can take it.
      if (next) next.admit();
      else active -= 1;
    },
    /** Rejects all waiting calls. */
    refuseWaiting(error: HubError): void {
      for (let next = waiting.take(); next; next = waiting.take()) next.refuse(error);
    },
  };
}
