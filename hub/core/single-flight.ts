import { unlessAborted } from './abort.ts';

type Flight<T> = { readonly result: Promise<T>; waiting: number; readonly giveUp: () => void };

/** Runs work once per key for all concurrent callers. The callers must bound the number of keys. */
export function createSingleFlight<T>() {
  const flights = new Map<string, Flight<T>>();

  function begin(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const forget = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    const result = work(controller.signal).finally(forget);
    result.catch(() => {}); // Without callers an error is ignored.
    const giveUp = () => {
      forget();
      controller.abort();
    };
    const flight: Flight<T> = { result, waiting: 0, giveUp };
    flights.set(key, flight);
    return flight;
  }

  return {
    /** Number of keys with running work. */
    get size() {
      return flights.size;
    },
    has: (key: string) => flights.has(key),
    /**
     * Starts the work of a key, or joins it. Rejects with the reason of `signal` when it aborts. The signal passed to
     * the work aborts when the last caller has left; the next caller starts new work.
     */
    async join(
      key: string,
      work: (signal: AbortSignal) => Promise<T>,
      signal: AbortSignal,
    ): Promise<T> {
      signal.throwIfAborted();
      const flight = flights.get(key) ?? begin(key, work);
      flight.waiting++;
      try {
        return await unlessAborted(flight.result, signal);
      } finally {
        flight.waiting--;
        if (flight.waiting === 0) flight.giveUp();
      }
    },
  };
}
