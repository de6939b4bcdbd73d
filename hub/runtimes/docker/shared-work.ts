import { unlessAborted } from '#core';

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

type Entry = {
  readonly result: Promise<void>;
  readonly abort: AbortController;
  readonly listeners: Set<Progress>;
};

/** At most `maxAtOnce` pieces of work run; others wait for their turn. */
export function createSharedWork(maxAtOnce: number): SharedWork {
  const entries = new Map<string, Entry>();
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

  function begin(key: string, work: Work): Entry {
    const abort = new AbortController();
    const listeners = new Set<Progress>();
    const tell = (text: string) => {
      for (const listener of listeners) listener(text);
    };
    const run = () => {
      abort.signal.throwIfAborted();
      return work(tell, abort.signal);
    };
    const result = inTurn(run).finally(() => forget(key, entry));
    const entry = { result, abort, listeners };
    entries.set(key, entry);
    return entry;
  }

  function forget(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key);
  }

  return {
    async join(key, work, progress, signal) {
      signal.throwIfAborted();
      const entry = entries.get(key) ?? begin(key, work);
      // Wrapped, so that one function given by two callers counts as two.
      const listener = (text: string) => progress(text);
      entry.listeners.add(listener);
      try {
        await unlessAborted(entry.result, signal);
      } finally {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0) {
          // Whoever comes now begins anew rather than joining work that is being given up.
          forget(key, entry);
          entry.abort.abort(signal.reason);
        }
      }
    },
  };
}
