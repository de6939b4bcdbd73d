import { bucketCount, quantileMs } from './histogram.ts';

/** Totals of the calls that ended within one interval of ten seconds. */
export type Interval = {
  /** Start of the interval, in milliseconds since the epoch. */
  readonly at: number;
  readonly calls: number;
  readonly errors: number;
  /** Undefined without calls. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
};

export const intervalMs = 10_000;
export const intervalCount = 180;

/** Call totals of the last half hour, in intervals of ten seconds. */
export function createRecentCalls() {
  /** The interval number (since the epoch) that each slot currently holds. */
  const numbers = new Float64Array(intervalCount);
  const calls = new Uint32Array(intervalCount);
  const errors = new Uint32Array(intervalCount);
  const buckets = new Uint32Array(intervalCount * bucketCount);

  function slotOf(number: number): number {
    const slot = number % intervalCount;
    if (numbers[slot] === number) return slot;
    numbers[slot] = number;
    calls[slot] = 0;
    errors[slot] = 0;
    buckets.fill(0, slot * bucketCount, (slot + 1) * bucketCount);
    return slot;
  }

  return {
    /** Counts a call. `bucket` is the histogram bucket of its duration, `endedAt` is in ms since the epoch. */
    record(endedAt: number, bucket: number, isError: boolean): void {
      const slot = slotOf(Math.floor(endedAt / intervalMs));
      calls[slot] = (calls[slot] ?? 0) + 1;
      if (isError) errors[slot] = (errors[slot] ?? 0) + 1;
      const at = slot * bucketCount + bucket;
      buckets[at] = (buckets[at] ?? 0) + 1;
    },
    /** All intervals up to `now` (ms since the epoch), the oldest first, including those without calls. */
    intervals(now: number): readonly Interval[] {
      const last = Math.floor(now / intervalMs);
      return Array.from({ length: intervalCount }, (_, index) => {
        const number = last - intervalCount + 1 + index;
        const slot = number % intervalCount;
        const isCurrent = numbers[slot] === number;
        const counts = buckets.subarray(slot * bucketCount, (slot + 1) * bucketCount);
        return {
          at: number * intervalMs,
          calls: isCurrent ? (calls[slot] ?? 0) : 0,
          errors: isCurrent ? (errors[slot] ?? 0) : 0,
          p50Ms: isCurrent ? quantileMs(counts, 0.5) : undefined,
          p99Ms: isCurrent ? quantileMs(counts, 0.99) : undefined,
        };
      });
    },
  };
}
