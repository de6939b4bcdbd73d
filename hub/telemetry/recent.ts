import { bucketCount, quantileMs } from './histogram.ts';

/** The calls that ended within ten seconds. */
export type Interval = {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  readonly calls: number;
  readonly errors: number;
  /** Undefined where there were no calls. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
};

/** What has happened in the last half hour, by intervals of ten seconds. */
export interface Recent {
  /** `bucket` is that of the time it took. */
  record(endedAt: number, bucket: number, isError: boolean): void;
  /** All intervals up to now, the oldest first, those without calls among them. */
  intervals(now: number): readonly Interval[];
}

export const intervalMs = 10_000;
export const intervalCount = 180;

export function createRecent(): Recent {
  /** Which interval since the epoch a slot is of. */
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
    record(endedAt, bucket, isError) {
      const slot = slotOf(Math.floor(endedAt / intervalMs));
      calls[slot] = (calls[slot] ?? 0) + 1;
      if (isError) errors[slot] = (errors[slot] ?? 0) + 1;
      const at = slot * bucketCount + bucket;
      buckets[at] = (buckets[at] ?? 0) + 1;
    },
    intervals(now) {
      const last = Math.floor(now / intervalMs);
      return Array.from({ length: intervalCount }, (_, index) => {
        const number = last - intervalCount + 1 + index;
        const slot = number % intervalCount;
        const isThere = numbers[slot] === number;
        const counts = buckets.subarray(slot * bucketCount, (slot + 1) * bucketCount);
        return {
          at: number * intervalMs,
          calls: isThere ? (calls[slot] ?? 0) : 0,
          errors: isThere ? (errors[slot] ?? 0) : 0,
          p50Ms: isThere ? quantileMs(counts, 0.5) : undefined,
          p99Ms: isThere ? quantileMs(counts, 0.99) : undefined,
        };
      });
    },
  };
}
