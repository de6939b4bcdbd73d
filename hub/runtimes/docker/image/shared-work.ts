import { createSingleFlight } from '#core';

export type Progress = (text: string) => void;
type Work = (progress: Progress, signal: AbortSignal) => Promise<void>;

/** Runs work once for all concurrent callers, and at most `maxAtOnce` pieces of work at once. */
export function createSharedWork(maxAtOnce: number) {
  const flights = createSingleFlight<void>();
  const listeners = new Map<string, Set<Progress>>();
  const waiting: (() => void)[] = [];
  let active = 0;

  async function inTurn(run: () => Promise<void>, tell: Progress): Promise<void> {
    if (active < maxAtOnce) active++;
    else {
      tell(`waiting for its turn: ${maxAtOnce} images are made at once`);
      await new Promise<void>(resolve => waiting.push(resolve));
      tell('building the image, or pulling it');
    }
    try {
      await run();
    } finally {
      // Hands its slot to the next in line.
      const next = waiting.shift();
      if (next) next();
      else active--;
    }
  }

  return {
    /**
     * Joins the work on a key, or begins it. `progress` receives the messages of the work after the join. A caller leaves
     * when its signal aborts; the work is aborted when its last caller leaves.
     */
    async join(key: string, work: Work, progress: Progress, signal: AbortSignal): Promise<void> {
      signal.throwIfAborted();
      // Aborted work keeps its listeners; new work on the same key gets its own.
      const heard = (flights.has(key) ? listeners.get(key) : undefined) ?? new Set<Progress>();
      listeners.set(key, heard);
      // Wrapped: two callers may pass the same function.
      const listener = (text: string) => progress(text);
      heard.add(listener);
      const tell = (text: string) => heard.forEach(one => one(text));
      const run = (ending: AbortSignal) =>
        inTurn(async () => {
          ending.throwIfAborted();
          await work(tell, ending);
        }, tell);
      try {
        await flights.join(key, run, signal);
      } finally {
        heard.delete(listener);
        if (!flights.has(key)) listeners.delete(key);
      }
    },
  };
}
