import { type Clock, createAbortScope, unlessAborted } from '#core';

/** Work that is left to itself when it takes too long, and that the next of its name waits for. */
export interface Turns {
  /**
   * Does work under a name, and rejects with DeadlineExceeded at once when it takes longer than `timeoutMs`. Its signal
   * aborts then: it has to leave nothing behind, however late it hears from the engine, and what it results in
   * is dropped. Undefined: it takes as long as it takes.
   */
  take<T>(
    name: string,
    timeoutMs: number | undefined,
    work: (late: AbortSignal) => Promise<T>,
  ): Promise<T>;
}

/** Nothing is done at first. */
export function createTurns({ clock }: { readonly clock: Clock }): Turns {
  /** What is left to itself, by name: one at the most of each, as the next waits for it. */
  const leftAlone = new Map<string, Promise<void>>();

  return {
    async take(name, timeoutMs, work) {
      using late = createAbortScope(
        [],
        timeoutMs === undefined ? undefined : { clock, limitMs: timeoutMs },
      );
      const before = leftAlone.get(name);
      const doing = (async () => {
        await before;
        late.signal.throwIfAborted();
        return await work(late.signal);
      })();
      try {
        return await unlessAborted(doing, late.signal);
      } finally {
        if (late.signal.aborted) {
          const forget = () => {
            if (leftAlone.get(name) === over) leftAlone.delete(name);
          };
          const over: Promise<void> = doing.then(forget, forget);
          leftAlone.set(name, over);
        }
      }
    },
  };
}
