import { createSingleFlight } from '#core';

export type Progress = (text: string) => void;
type Work = (progress: Progress, signal: AbortSignal) => Promise<void>;

/** Runs a task once for all concurrent callers with the same key, and at most `maxAtOnce` tasks at once. */
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
      // The task hands its slot to the next one in the queue.
      const next = waiting.shift();
      if (next) next();
      else active--;
    }
  }

  return {
    /**
     * Joins the task of a key, or starts it. `progress` receives the messages of the task after the join. A caller
     * leaves when its signal aborts; the task is aborted when its last caller leaves.
     */
    async join(key: string, work: Work, progress: Progress, signal: AbortSignal): Promise<void> {
      signal.throwIfAborted();
      // An aborted task keeps its listeners; a new task of the same key gets its own.
      const heard = (flights.has(key) ? listeners.get(key) : undefined) ?? new Set<Progress>();
      listeners.set(key, heard);
      // A function of its own for each call, as two callers may pass the same one.
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
