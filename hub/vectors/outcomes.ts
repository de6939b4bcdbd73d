import type { Log } from '#core';
import type { VectorsFailure } from './vectors.ts';

/** Kind of operation. The last outcome of each kind decides whether an index is usable. */
export type Operation = 'look-up' | 'write' | 'count';

/** Tracks the kinds of operations whose last attempt failed. Logs a line when an outage begins and when it ends. */
export function createOutcomes(log: Pick<Log, 'info' | 'warn'>, index: string) {
  const failures = new Map<Operation, VectorsFailure>();
  return {
    /** Message of the earliest failure; undefined if the last operation of each kind succeeded. */
    get failure(): string | undefined {
      return failures.values().next().value?.message;
    },
    succeeded(operation: Operation): void {
      if (failures.size === 0) return;
      const isTimely = operation !== 'count' || failures.get('count')?.kind === 'timeout';
      failures.delete(operation);
      // The index is reachable again, so failures of other kinds are cleared. A count is faster than the others, so its
      // success does not clear their timeouts.
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
