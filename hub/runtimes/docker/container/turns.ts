import { type Clock, createAbortScope, unlessAborted } from '#core';

/**
 * Runs tasks under names. A task that times out continues in the background, and the next task of its name waits for
 * it.
 */
export function createTurns({ clock }: { readonly clock: Clock }) {
  /** Tasks that have timed out and have not ended, by name. */
  const leftAlone = new Map<string, Promise<void>>();

  return {
    /**
     * Runs `work` under a name. After `timeoutMs` it rejects with DeadlineExceeded and aborts the signal of `work`,
     * which must then clean up after itself, however late the engine answers; its result is dropped. Undefined: no
     * timeout.
     */
    async take<T>(
      name: string,
      timeoutMs: number | undefined,
      work: (late: AbortSignal) => Promise<T>,
    ): Promise<T> {
      const deadline = timeoutMs === undefined ? undefined : { clock, limitMs: timeoutMs };
      using late = createAbortScope([], deadline);
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
