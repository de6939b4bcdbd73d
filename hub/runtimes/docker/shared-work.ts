import { createSingleFlight } from '#core';

/** Work that several callers may want at once, and that is then done once for all of them. */
export interface SharedWork {
  /**
   * Joins the work on a key, or begins it. `progress` hears what the work tells from here on. A
   * caller whose signal aborts leaves; the work is aborted when the last one has left.
   */
  join(key: string, work: Work, progress: Progress, signal: AbortSignal): Promise<void>;
}

type Progress = (text: string) => void;
type Work = (progress: Progress, signal: AbortSignal) => Promise<void>;

/** At most `maxAtOnce` pieces of work run; others wait for their turn. */
export function createSharedWork(maxAtOnce: number): SharedWork {
  const flights = createSingleFlight<void>();
  const listeners = new Map<string, Set<Progress>>();
  const waiting: (() => void)[] = [];
  let active = 0;

  async function inTurn(run: () => Promise<void>): Promise<void> {
    if (active < maxAtOnce) active++;
    else await new Promise<void>(resolve => waiting.push(resolve));
    try {
      await run();
    } finally {
      // The turn is handed on; it ends with the last one that waits.
      const next = waiting.shift();
      if (next) next();
      else active--;
    }
  }

  return {
    async join(key, work, progress, signal) {
      signal.throwIfAborted();
      // Work that is being given up keeps its own listeners: those of the next work are others.
      const heard = (flights.has(key) ? listeners.get(key) : undefined) ?? new Set<Progress>();
      listeners.set(key, heard);
      // Wrapped, so that one function given by two callers counts as two.
      const listener = (text: string) => progress(text);
      heard.add(listener);
      const tell = (text: string) => {
        for (const one of heard) one(text);
      };
      const run = (ending: AbortSignal) =>
        inTurn(async () => {
          ending.throwIfAborted();
          await work(tell, ending);
        });
      try {
        await flights.join(key, run, signal);
      } finally {
        heard.delete(listener);
        if (!flights.has(key)) listeners.delete(key);
      }
    },
  };
}
