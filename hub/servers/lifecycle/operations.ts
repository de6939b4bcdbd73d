export type Operations = ReturnType<typeof createOperations>;

/**
 * Launches, stops and cleanups of one server that are under way. Calls `settled` when the last one is over, and
 * `failed` with the error of one that rejects, which is a bug.
 */
export function createOperations(settled: () => void, failed: (error: unknown) => void) {
  const operations = new Set<Promise<void>>();
  return {
    get size() {
      return operations.size;
    },
    /** Counts an operation until it is over. */
    track(work: Promise<unknown>): void {
      const operation = work.catch(failed).then(() => {
        operations.delete(operation);
        if (operations.size === 0) settled();
      });
      operations.add(operation);
    },
    /** Resolves when all that are under way now are over. */
    over: () => Promise.all(operations),
  };
}
