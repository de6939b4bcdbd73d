import { HubError, createAbortScope, createSingleFlight } from '#core';
import type { Found } from './exact-cache.ts';

/** A lookup of a value, including the fill if necessary, that all calls for the key share. */
export type Flight = {
  /** Unique key of this flight. */
  readonly id: string;
  readonly tag: string;
  /** True if its tag was forgotten meanwhile: the value must not be stored. */
  isForgotten: boolean;
};

/**
 * Creates single flights by key that can be forgotten by tag. `joined` is called for each call that got its value from
 * a flight that another call started.
 */
export function createTaggedFlights(joined: (found: Found) => void) {
  const flights = createSingleFlight<Found>();
  /** Flights that calls can join, by cache key. */
  const open = new Map<string, Flight>();
  const stopping = new AbortController();
  let started = 0;

  return {
    /**
     * Joins the flight of a key, or starts `run` as a new one. The signal of `run` aborts when its last caller has
     * left. Rejects with the reason of `signal` when that aborts.
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
    /** Closes the flights of a tag, or all flights, to new calls. Waiting calls still get their value. */
    forget(tag?: string): void {
      for (const [key, flight] of open)
        if (tag === undefined || flight.tag === tag) {
          flight.isForgotten = true;
          open.delete(key);
        }
    },
    /** Aborts all flights. Waiting calls are rejected with HUB_SHUTTING_DOWN. */
    stop(): void {
      stopping.abort(new HubError('HUB_SHUTTING_DOWN', 'the cache is closed: the hub shuts down'));
    },
  };
}
