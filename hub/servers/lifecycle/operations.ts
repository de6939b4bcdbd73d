/** Launches, stops and cleanups of one server that are under way. */
export interface Operations {
  readonly size: number;
  /** Counts an operation until it is over. */
  track(work: Promise<unknown>): void;
  /** Resolves when all that are under way now are over. */
  over(): Promise<unknown>;
}

export type OperationsNeeds = {
  /** Called when the last one is over. */
  readonly settled: () => void;
  /** Called with the error of one that rejects, which is a bug. */
  readonly failed: (error: unknown) => void;
};

/** None at first. */
export function createOperations({ settled, failed }: OperationsNeeds): Operations {
  const operations = new Set<Promise<void>>();
  return {
    get size() {
      return operations.size;
    },
    track(work) {
      const operation = work.catch(failed).then(() => {
        operations.delete(operation);
        if (operations.size === 0) settled();
      });
      operations.add(operation);
    },
    over: () => Promise.all(operations),
  };
}
