import { HubError } from '#core';
import type { Found } from './exact-cache.ts';

/** One search for a value, with the fill if one is needed, for all calls that wait for it. */
export type Flight = {
  /** Aborted once no call waits any more. */
  readonly signal: AbortSignal;
  /** Whether its tag was forgotten meanwhile: the value must not be kept. */
  readonly isForgotten: boolean;
};

/** At most one flight for a key that calls can join. */
export interface SingleFlight {
  /**
   * Joins the flight for a key, or starts `run` as one. A call leaves when its signal is aborted; a flight that
   * every call has left is aborted.
   */
  join(
    key: string,
    tag: string,
    signal: AbortSignal,
    run: (flight: Flight) => Promise<Found>,
  ): Promise<Found>;
  /** Closes the flights of a tag, or all, to new calls. The calls that wait get their value. */
  forget(tag?: string): void;
  /** Aborts all flights; the calls that wait are rejected with HUB_SHUTTING_DOWN. */
  stop(): void;
}

type OpenFlight = {
  readonly key: string;
  readonly tag: string;
  readonly abort: AbortController;
  readonly signal: AbortSignal;
  readonly result: PromiseWithResolvers<Found>;
  waiting: number;
  isForgotten: boolean;
};

/** `joined` is called for each call that got the value of a flight that it did not start. */
export function createSingleFlight(joined: (found: Found) => void): SingleFlight {
  /** Bounded by the calls that wait: each flight has at least one. */
  const running = new Set<OpenFlight>();
  /** The flights that calls can join. */
  const joinable = new Map<string, OpenFlight>();

  function start(key: string, tag: string, run: (flight: Flight) => Promise<Found>): OpenFlight {
    const abort = new AbortController();
    const flight: OpenFlight = {
      key,
      tag,
      abort,
      signal: abort.signal,
      result: Promise.withResolvers(),
      waiting: 0,
      isForgotten: false,
    };
    running.add(flight);
    joinable.set(key, flight);
    void settle(flight, run(flight));
    return flight;
  }

  async function settle(flight: OpenFlight, found: Promise<Found>): Promise<void> {
    try {
      const value = await found;
      // Closed first: the next call finds the kept value.
      close(flight);
      flight.result.resolve(value);
    } catch (error) {
      close(flight);
      flight.result.reject(error);
    }
  }

  function close(flight: OpenFlight): void {
    running.delete(flight);
    if (joinable.get(flight.key) === flight) joinable.delete(flight.key);
  }

  /** Waits for the result of a flight until `signal` is aborted. */
  async function wait(flight: OpenFlight, signal: AbortSignal): Promise<Found> {
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    flight.waiting++;
    try {
      return await Promise.race([flight.result.promise, left.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      flight.waiting--;
      if (flight.waiting === 0 && running.has(flight)) {
        close(flight);
        flight.abort.abort(signal.reason);
      }
    }
  }

  return {
    async join(key, tag, signal, run) {
      signal.throwIfAborted();
      const before = joinable.get(key);
      if (!before) return wait(start(key, tag, run), signal);
      const found = await wait(before, signal);
      const own: Found = found.from === 'hit' ? found : { ...found, from: 'joined' };
      joined(own);
      return own;
    },
    forget(tag) {
      for (const flight of joinable.values())
        if (tag === undefined || flight.tag === tag) {
          flight.isForgotten = true;
          joinable.delete(flight.key);
        }
    },
    stop() {
      const reason = new HubError('HUB_SHUTTING_DOWN', 'the cache is closed: the hub shuts down');
      for (const flight of running) {
        close(flight);
        flight.result.reject(reason);
        flight.abort.abort(reason);
      }
    },
  };
}
