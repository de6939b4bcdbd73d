import { type Clock, type HubError, type Timer, createSlotMap } from '#core';
import type { Answer } from '#jsonrpc';
import type { Caller } from './caller.ts';
import { type ByOwner, type Place, createByOwner } from './ownership.ts';

/** A request that waits for its answer. The hub's own requests have no caller. */
export type Pending = {
  readonly method: string;
  readonly caller: Caller | undefined;
  /** The timer that ends the wait for the answer. */
  readonly timeout: Timer | undefined;
  readonly settle: (answer: Answer) => void;
  readonly reject: (error: HubError) => void;
};

type Entry = Pending & { readonly place: Place<Caller> | undefined };

/** The pending requests of a server, by the ids that the hub assigned. */
export interface InFlight {
  readonly size: number;
  /** The clients' requests. */
  readonly calls: Pick<ByOwner<Caller>, 'size' | 'newest' | 'isOfSeveral'>;
  /** Adds a request. Returns its id, which is above all earlier ids. */
  add(pending: Pending): number;
  find(id: number): Pending | undefined;
  /** Removes the request and stops its timeout. Returns undefined if the request is gone already. */
  take(id: number): Pending | undefined;
  /** All ids, oldest first. A copy: requests may be taken during iteration. */
  ids(): readonly number[];
}

/** Creates an empty set of pending requests. Ids start after `after`. */
export function createInFlight(after?: number): InFlight {
  const entries = createSlotMap<Entry>(after);
  const calls = createByOwner<Caller>();
  return {
    get size() {
      return entries.size;
    },
    calls,
    add({ method, caller, timeout, settle, reject }) {
      const place = caller && calls.add(caller);
      return entries.add({ method, caller, timeout, settle, reject, place });
    },
    find: id => entries.find(id),
    take(id) {
      const entry = entries.take(id);
      if (!entry) return undefined;
      entry.timeout?.[Symbol.dispose]();
      if (entry.place) calls.remove(entry.place);
      return entry;
    },
    ids: () => entries.entries().map(([id]) => id),
  };
}

/**
 * Calls `expired` when a call has made no progress for `timeoutMs`. At creation, the call has already waited
 * `waitedMs` of that time.
 */
export function createCallTimer(
  clock: Pick<Clock, 'after'>,
  expired: () => void,
  timeoutMs: number,
  waitedMs: number,
): Timer {
  // Most calls have not waited yet: they need only the plain timer.
  if (waitedMs === 0) return clock.after(timeoutMs, expired);
  let timer = clock.after(timeoutMs - waitedMs, expired);
  return {
    refresh() {
      timer[Symbol.dispose]();
      timer = clock.after(timeoutMs, expired);
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}
