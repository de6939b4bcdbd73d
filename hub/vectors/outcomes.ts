import type { Log } from '#core';
import type { VectorsFailure } from './vectors.ts';

/** The last one of each kind decides whether an index can be used. */
export type Operation = 'look-up' | 'write' | 'count';

/** The failures of operations that did not succeed since. Logs one line when an outage begins, and one when it ends. */
export function createOutcomes(log: Pick<Log, 'info' | 'warn'>, index: string) {
  const failures = new Map<Operation, VectorsFailure>();
  return {
    /** The message of the first failure; undefined if all operations succeed. */
    get failure(): string | undefined {
      return failures.values().next().value?.message;
    },
    succeeded(operation: Operation): void {
      if (failures.size === 0) return;
      const isTimely = operation !== 'count' || failures.get('count')?.kind === 'timeout';
      failures.delete(operation);
      // The index answers again. A count takes less time than the others, so it says little of them.
      for (const [other, { kind }] of failures)
        if (kind === 'unreachable' || (kind === 'timeout' && isTimely)) failures.delete(other);
      if (failures.size === 0) log.info({}, `the semantic cache can use ${index} again`);
    },
    failed(operation: Operation, failure: VectorsFailure): void {
      const { kind, message } = failure;
      if (kind === 'cancelled' || kind === 'stopped') return;
      const isKnown = [...failures.values()].some(known => known.kind === kind);
      failures.set(operation, failure);
      if (!isKnown) log.warn({ error: message }, `the semantic cache cannot use ${index}`);
    },
  };
}
