import { HubError, createAbortScope, createSingleFlight } from '#core';
import type { Found } from './exact-cache.ts';

/** One search for a value, with the fill if one is needed, for all calls that wait for it. */
export type Flight = {
  /** The key of this flight among all flights. */
  readonly id: string;
  readonly tag: string;
  /** Whether its tag was forgotten in the meantime: the value must not be kept. */
  isForgotten: boolean;
};

/** Single flights by key that can be forgotten by tag. `joined` is called for each call that got the value of a flight that it did not start. */
export function createTaggedFlights(joined: (found: Found) => void) {
  const flights = createSingleFlight<Found>();
  /** The flights that calls can join, by key. */
  const open = new Map<string, Flight>();
  const stopping = new AbortController();
  let started = 0;

  return {
    /**
     * Joins the flight of a key, or starts `run` as one, whose signal aborts when the last call has left. Rejects with
     * the reason of `signal` once that aborts.
     */
    async join(
      key: string,
      tag: string,
      signal: AbortSignal,
      run: (signal: AbortSignal, flight: Readonly<Flight>) => Promise<Found>,
    ): Promise<Found> {
      signal.throwIfAborted();
      stopping.signal.throwIfAborted();
      const running = open.get(key);
      const flight = running ?? { id: String(++started), tag, isForgotten: false };
      open.set(key, flight);
      const close = () => {
        if (open.get(key) === flight) open.delete(key);
      };
      const start = async (ended: AbortSignal) => {
        ended.addEventListener('abort', close);
        try {
          return await run(ended, flight);
        } finally {
          close();
        }
      };
      using scope = createAbortScope([signal, stopping.signal]);
      const found = await flights.join(flight.id, start, scope.signal);
      if (!running) return found;
      const own: Found = found.from === 'hit' ? found : { ...found, from: 'joined' };
      joined(own);
      return own;
    },
    /** Closes the flights of a tag, or all, to new calls. The calls that wait get their value. */
    forget(tag?: string): void {
      for (const [key, flight] of open)
        if (tag === undefined || flight.tag === tag) {
          flight.isForgotten = true;
          open.delete(key);
        }
    },
    /** Aborts all flights; the calls that wait are rejected with HUB_SHUTTING_DOWN. */
    stop(): void {
      stopping.abort(new HubError('HUB_SHUTTING_DOWN', 'the cache is closed: the hub shuts down'));
    },
  };
}
