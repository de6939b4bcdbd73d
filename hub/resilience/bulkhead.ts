import { type Clock, HubError, createAbortScope, createKeyedSlotMap } from '#core';

export type BulkheadOptions = {
  readonly server: string;
  /** Maximum number of calls at once: `max_concurrent_calls`. */
  readonly maxConcurrent: number;
  /** Maximum number of further calls that wait: `max_queued_calls`. */
  readonly maxQueued: number;
};

export type BulkheadSnapshot = { readonly active: number; readonly queued: number };

/** Limits the calls to one server, with a bounded and fair queue. */
export type Bulkhead = ReturnType<typeof createBulkhead>;

/** A hint: the duration of the current calls is not known. */
const retryAfterMs = 1_000;
const raiseEither = 'raise its max_concurrent_calls or max_queued_calls';

type Waiting = { readonly admit: () => void; readonly refuse: (error: HubError) => void };
type Owner = { readonly key: string; readonly waiting: Queue<Waiting>; calls: number };

export function createBulkhead(
  { server, maxConcurrent, maxQueued }: BulkheadOptions,
  clock: Clock,
) {
  /** Owners of waiting calls, the next in turn first. */
  const turns = createQueue<Owner>();
  const nodes = createKeyedSlotMap<QueueNode<Owner>>();
  let active = 0;
  let queued = 0;

  /** Takes a free slot; false if there is none. `leave` returns it. Allocates nothing. */
  function enter(): boolean {
    if (active >= maxConcurrent) return false;
    active += 1;
    return true;
  }

  /** Appends a call to the queue of its owner. Returns a function that removes it. */
  function append(key: string, call: Waiting): () => void {
    let node = nodes.get(key);
    if (!node) nodes.set(key, (node = turns.append({ key, waiting: createQueue(), calls: 0 })));
    const owner = node.value;
    const own = owner.waiting.append(call);
    owner.calls += 1;
    queued += 1;
    return () => remove(owner, own);
  }

  function remove(owner: Owner, call: QueueNode<Waiting>): void {
    owner.waiting.remove(call);
    owner.calls -= 1;
    queued -= 1;
    if (!owner.waiting.first) endTurn(owner);
  }

  /** Moves an owner behind all others, or removes it if no more of its calls wait. */
  function endTurn(owner: Owner): void {
    const node = nodes.get(owner.key);
    if (node) turns.remove(node);
    if (owner.waiting.first) nodes.set(owner.key, turns.append(owner));
    else nodes.delete(owner.key);
  }

  /** Makes room in a full queue for a call of this owner, if another owner has a longer queue. */
  function makeRoom(key: string): boolean {
    const calls = nodes.get(key)?.value.calls ?? 0;
    let longest: Owner | undefined;
    for (let node = turns.first; node; node = node.next)
      if (node.value.calls > (longest?.calls ?? 0)) longest = node.value;
    if (!longest || longest.calls <= calls + 1) return false;
    longest.waiting.last?.value.refuse(
      busy(`${full()}, of which this session has the most`, raiseEither),
    );
    return true;
  }

  const cancelled = () =>
    new HubError('HUB_CALL_CANCELLED', `the call waited for server "${server}" and was cancelled`);

  const full = () => `has ${active} calls under way and ${queued} waiting, which is its limit`;

  function busy(why: string, remedy: string): HubError {
    const data = { server, retryable: true, retryAfterMs, maxConcurrent, maxQueued };
    const message = `server "${server}" ${why}: try again later, or ${remedy}`;
    return new HubError('HUB_SERVER_BUSY', message, { data });
  }

  /**
   * Waits for a slot after `enter` found none; `leave` returns it. Owners take turns, so that a single call does not
   * wait behind a thousand calls of another owner. Rejects with HUB_SERVER_BUSY if the queue is full or after
   * `deadlineMs`, and with HUB_CALL_CANCELLED when `signal` aborts. In a full queue a call replaces the newest call
   * of the owner with the longest queue, if its own queue stays shorter: all owners get equal shares.
   */
  async function wait(key: string, deadlineMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw cancelled();
    if (enter()) return;
    if (queued >= maxQueued && !makeRoom(key)) throw busy(full(), raiseEither);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const scope = createAbortScope(signal ? [signal] : [], { clock, limitMs: deadlineMs });
    // In the turn of the decision: an admitted call can no longer be refused.
    const settle = (outcome: () => void) => {
      leaveQueue();
      scope[Symbol.dispose]();
      outcome();
    };
    const refuse = (error: HubError) => settle(() => reject(error));
    const leaveQueue = append(key, { admit: () => settle(resolve), refuse });
    const late = `had none of its ${maxConcurrent} places free for ${deadlineMs} ms`;
    scope.signal.addEventListener('abort', () =>
      refuse(signal?.aborted ? cancelled() : busy(late, 'raise its max_concurrent_calls')),
    );
    return promise;
  }

  return {
    snapshot: (): BulkheadSnapshot => ({ active, queued }),
    enter,
    wait,
    /** Returns a slot, or passes it to the next call in turn. */
    leave(): void {
      const owner = turns.first?.value;
      const next = owner?.waiting.first;
      if (!owner || !next) {
        active -= 1;
        return;
      }
      // The slot is never free in between, so no new call can take it.
      next.value.admit();
      if (owner.waiting.first) endTurn(owner);
    },
    /** Rejects all waiting calls. */
    refuseWaiting(error: HubError): void {
      for (let next = turns.first; next; next = turns.first)
        next.value.waiting.first?.value.refuse(error);
    },
  };
}

type QueueNode<T> = {
  readonly value: T;
  next: QueueNode<T> | undefined;
  previous: QueueNode<T> | undefined;
};

type Queue<T> = ReturnType<typeof createQueue<T>>;

/** A queue with removal of any entry in constant time: a doubly linked list. */
function createQueue<T>() {
  let first: QueueNode<T> | undefined;
  let last: QueueNode<T> | undefined;
  return {
    get first() {
      return first;
    },
    get last() {
      return last;
    },
    append(value: T): QueueNode<T> {
      const node: QueueNode<T> = { value, next: undefined, previous: last };
      if (last) last.next = node;
      else first = node;
      last = node;
      return node;
    },
    /** Removes an entry of this queue. Call it once. */
    remove({ previous, next }: QueueNode<T>): void {
      if (previous) previous.next = next;
      else first = next;
      if (next) next.previous = previous;
      else last = previous;
    },
  };
}
