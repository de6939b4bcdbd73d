import { type Clock, HubError, createKeyedSlotMap } from '#core';
import { type Line, type Place, createLine } from './line.ts';

export type BulkheadOptions = {
  /** The server's name, for messages. */
  readonly server: string;
  /** So many calls at once: `max_concurrent_calls`. */
  readonly maxConcurrent: number;
  /** So many more wait for their turn: `max_queued_calls`. */
  readonly maxQueued: number;
};

export type BulkheadSnapshot = { readonly active: number; readonly queued: number };

/** Places for calls to one server, and a bounded queue for those that find none. */
export interface Bulkhead {
  /** How many calls have a place, and how many wait for one. */
  snapshot(): BulkheadSnapshot;
  /** Takes a place where one is free: then the call may be made, and `leave` follows. Allocates nothing. */
  enter(): boolean;
  /**
   * Waits for a place, after `enter` found none; `leave` follows once it resolves. Owners take turns, so
   * that one with a thousand calls does not keep another's single one waiting. Rejects with
   * HUB_SERVER_BUSY, at once where the queue is full and else after `deadlineMs`; with HUB_CALL_CANCELLED
   * when `signal` is aborted. In a full queue the newest call of the owner with the longest line gives way,
   * with HUB_SERVER_BUSY, to one of an owner whose line stays shorter: so all come to equal shares.
   */
  wait(owner: string, deadlineMs: number, signal?: AbortSignal): Promise<void>;
  /** Gives the place back, or on to the next in turn. */
  leave(): void;
  /** Rejects all that wait, where waiting has become pointless. */
  refuseWaiting(error: HubError): void;
}

/** A hint: calls take milliseconds or minutes, and nobody knows which. */
const retryAfterMs = 1_000;
const raiseEither = 'raise its max_concurrent_calls or max_queued_calls';

type Waiting = { readonly admit: () => void; readonly refuse: (error: HubError) => void };
type Owner = { readonly key: string; readonly waiting: Line<Waiting>; calls: number };

/** A bulkhead with all places free. */
export function createBulkhead(options: BulkheadOptions, clock: Clock): Bulkhead {
  const { server, maxConcurrent, maxQueued } = options;
  /** Owners of calls that wait, the next in turn first. */
  const turns = createLine<Owner>();
  const places = createKeyedSlotMap<Place<Owner>>();
  let active = 0;
  let queued = 0;

  function enter(): boolean {
    if (active >= maxConcurrent) return false;
    active += 1;
    return true;
  }

  /** Puts a call at the end of its owner's line; what it returns takes it out, once. */
  function append(key: string, call: Waiting): () => void {
    let place = places.get(key);
    if (!place) places.set(key, (place = turns.append(newOwner(key))));
    const owner = place.value;
    const own = owner.waiting.append(call);
    owner.calls += 1;
    queued += 1;
    return () => remove(owner, own);
  }

  function remove(owner: Owner, call: Place<Waiting>): void {
    owner.waiting.remove(call);
    owner.calls -= 1;
    queued -= 1;
    if (!owner.waiting.first) endTurn(owner);
  }

  /** Takes the owner out of the turns, and puts it behind all others if more of its calls wait. */
  function endTurn(owner: Owner): void {
    const place = places.get(owner.key);
    if (place) turns.remove(place);
    if (owner.waiting.first) places.set(owner.key, turns.append(owner));
    else places.delete(owner.key);
  }

  /** Makes room in a full queue for a call of this owner, where another has a longer line. */
  function makeRoom(key: string): boolean {
    const calls = places.get(key)?.value.calls ?? 0;
    let longest: Owner | undefined;
    for (let place = turns.first; place; place = place.next)
      if (place.value.calls > (longest?.calls ?? 0)) longest = place.value;
    if (!longest || longest.calls <= calls + 1) return false;
    longest.waiting.last?.value.refuse(
      busy(`${full()}, of which this session has the most`, raiseEither),
    );
    return true;
  }

  const full = () => `has ${active} calls under way and ${queued} waiting, which is its limit`;

  function busy(why: string, remedy: string): HubError {
    return new HubError(
      'HUB_SERVER_BUSY',
      `server "${server}" ${why}: try again later, or ${remedy}`,
      {
        data: { server, retryable: true, retryAfterMs, maxConcurrent, maxQueued },
      },
    );
  }

  async function wait(key: string, deadlineMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw cancelled(server);
    if (enter()) return;
    if (queued >= maxQueued && !makeRoom(key)) throw busy(full(), raiseEither);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // All of this in the turn of the decision: whoever has a place can no longer be refused one.
    const settle = () => {
      leaveLine();
      deadline[Symbol.dispose]();
      signal?.removeEventListener('abort', abort);
    };
    const refuse = (error: HubError) => {
      settle();
      reject(error);
    };
    const admit = () => {
      settle();
      resolve();
    };
    const abort = () => refuse(cancelled(server));
    const leaveLine = append(key, { admit, refuse });
    const deadline = clock.after(deadlineMs, () =>
      refuse(
        busy(
          `had none of its ${maxConcurrent} places free for ${deadlineMs} ms`,
          'raise its max_concurrent_calls',
        ),
      ),
    );
    signal?.addEventListener('abort', abort);
    return promise;
  }

  return {
    snapshot: () => ({ active, queued }),
    enter,
    wait,
    leave() {
      const owner = turns.first?.value;
      const next = owner?.waiting.first;
      if (!owner || !next) {
        active -= 1;
        return;
      }
      // The place goes from hand to hand: nobody who comes now can take it.
      next.value.admit();
      if (owner.waiting.first) endTurn(owner);
    },
    refuseWaiting(error) {
      for (let next = turns.first; next; next = turns.first)
        next.value.waiting.first?.value.refuse(error);
    },
  };
}

const newOwner = (key: string): Owner => ({ key, waiting: createLine(), calls: 0 });

function cancelled(server: string): HubError {
  return new HubError(
    'HUB_CALL_CANCELLED',
    `the call waited for server "${server}" and was cancelled`,
  );
}
