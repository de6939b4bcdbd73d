import { HubError } from '#core';
import type { Found } from './exact-cache.ts';

/** A look for a value that is under way, and the fill where one is needed. */
export type Flight = {
  /** Aborted once nobody waits any more. */
  readonly signal: AbortSignal;
  /** True once what it brings is not to be kept. */
  readonly isForgotten: boolean;
};

/** One flight for a key at a time, for all calls that ask for it. */
export interface Flights {
  /**
   * Joins the flight for a key, or starts one. A call whose signal is aborted leaves, and a flight that all
   * have left is given up.
   */
  board(
    key: string,
    tag: string,
    signal: AbortSignal,
    fly: (flight: Flight) => Promise<Found>,
  ): Promise<Found>;
  /** Nobody joins the flights of a tag, or any, from now on. Those in them are brought what they wait for. */
  forget(tag?: string): void;
  /** Gives up all flights. Whoever waits is told that the hub shuts down. */
  stop(): void;
}

type Underway = {
  readonly key: string;
  readonly tag: string;
  readonly abort: AbortController;
  readonly signal: AbortSignal;
  readonly landing: PromiseWithResolvers<Found>;
  waiting: number;
  isForgotten: boolean;
};

/** `joined` is told of each call that was given what another one looked for. */
export function createFlights(joined: (found: Found) => void): Flights {
  /** Each has a call that waits for it, and of those there are as many as come in at most. */
  const underway = new Set<Underway>();
  /** Those that can be joined. */
  const boarding = new Map<string, Underway>();

  function depart(key: string, tag: string, fly: (flight: Flight) => Promise<Found>): Underway {
    const abort = new AbortController();
    const flight: Underway = {
      key,
      tag,
      abort,
      signal: abort.signal,
      landing: Promise.withResolvers(),
      waiting: 0,
      isForgotten: false,
    };
    underway.add(flight);
    boarding.set(key, flight);
    void land(flight, fly(flight));
    return flight;
  }

  async function land(flight: Underway, found: Promise<Found>): Promise<void> {
    try {
      const value = await found;
      // Closed first: who comes now finds what is kept.
      close(flight);
      flight.landing.resolve(value);
    } catch (error) {
      close(flight);
      flight.landing.reject(error);
    }
  }

  function close(flight: Underway): void {
    underway.delete(flight);
    if (boarding.get(flight.key) === flight) boarding.delete(flight.key);
  }

  /** Waits for a flight to land, as long as `signal` lets it. */
  async function wait(flight: Underway, signal: AbortSignal): Promise<Found> {
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    flight.waiting++;
    try {
      return await Promise.race([flight.landing.promise, left.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      flight.waiting--;
      if (flight.waiting === 0 && underway.has(flight)) {
        close(flight);
        flight.abort.abort(signal.reason);
      }
    }
  }

  return {
    async board(key, tag, signal, fly) {
      signal.throwIfAborted();
      const before = boarding.get(key);
      if (!before) return wait(depart(key, tag, fly), signal);
      const found = await wait(before, signal);
      const own: Found = found.from === 'hit' ? found : { ...found, from: 'joined' };
      joined(own);
      return own;
    },
    forget(tag) {
      for (const flight of boarding.values())
        if (tag === undefined || flight.tag === tag) {
          flight.isForgotten = true;
          boarding.delete(flight.key);
        }
    },
    stop() {
      const reason = new HubError('HUB_SHUTTING_DOWN', 'the cache is closed: the hub shuts down');
      for (const flight of underway) {
        close(flight);
        flight.landing.reject(reason);
        flight.abort.abort(reason);
      }
    },
  };
}
