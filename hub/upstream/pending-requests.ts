import { type Clock, type HubError, type Timer, createSlotMap } from '#core';
import type { Answer } from '#jsonrpc';
import type { Caller } from './caller.ts';
import { type ByOwner, type Place, createByOwner } from './ownership.ts';

/** A request that waits for its answer. Those of the hub's own have no caller. */
export type Pending = {
  readonly method: string;
  readonly caller: Caller | undefined;
  /** Ends the wait for the answer. */
  readonly timeout: Timer | undefined;
  readonly settle: (answer: Answer) => void;
  readonly reject: (error: HubError) => void;
};

type Entry = Pending & { readonly place: Place<Caller> | undefined };

/** The requests that a server has not answered, by the ids that the hub gave them. */
export interface InFlight {
  readonly size: number;
  /** Those of clients. */
  readonly calls: Pick<ByOwner<Caller>, 'size' | 'newest' | 'isOfSeveral'>;
  /** Enters a request; its id is above all before it. */
  add(pending: Pending): number;
  find(id: number): Pending | undefined;
  /** Removes it and ends its timeout; undefined where it is gone already. */
  take(id: number): Pending | undefined;
  /** The oldest first. A copy: requests may be taken while one goes through it. */
  ids(): readonly number[];
}

/** Nothing is in flight at first. The first id comes `after` another one. */
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
 * Calls `expired` when a call has made no progress for `timeoutMs`, of which `waitedMs` had passed before.
 */
export function createCallTimer(
  clock: Pick<Clock, 'after'>,
  expired: () => void,
  timeoutMs: number,
  waitedMs: number,
): Timer {
  // Most calls have waited for nothing: theirs cost no more than the timer.
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
