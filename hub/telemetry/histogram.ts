/** Upper bounds of the buckets in seconds. They start at 25 µs, as the hub adds far less than a millisecond. */
export const boundsSeconds: readonly number[] = [
  0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1,
  0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

const boundsMs = boundsSeconds.map(seconds => seconds * 1000);

/** Number of buckets: one for each bound, and the last one for larger values. */
const bucketCount = boundsMs.length + 1;

/** Returns the index of a value's bucket: the first whose bound is not below the value. Default bounds: in ms. */
export function bucketOf(value: number, bounds = boundsMs): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (value <= (bounds[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Number of observations in each bucket, and the sum of all observed values. */
export type Times = { readonly buckets: Float64Array; sum: number };

export const newTimes = (bounds = boundsMs): Times => ({
  buckets: new Float64Array(bounds.length + 1),
  sum: 0,
});

/** Adds an observation and returns the index of its bucket. */
export function addTime(times: Times, value: number, bounds = boundsMs): number {
  const bucket = bucketOf(value, bounds);
  times.buckets[bucket] = (times.buckets[bucket] ?? 0) + 1;
  times.sum += value;
  return bucket;
}

/**
 * Estimates a quantile in milliseconds (`share` is from 0 to 1) by linear interpolation within a bucket, like
 * Prometheus. Returns the highest bound for values above it, and undefined without observations.
 */
export function quantileMs(counts: Float64Array | Uint32Array, share: number): number | undefined {
  let count = 0;
  for (const inside of counts) count += inside;
  if (count === 0) return undefined;
  const rank = share * count;
  let below = 0;
  for (const [bucket, upper] of boundsMs.entries()) {
    const inside = counts[bucket] ?? 0;
    if (inside > 0 && below + inside >= rank) {
      const lower = boundsMs[bucket - 1] ?? 0;
      return lower + ((upper - lower) * (rank - below)) / inside;
    }
    below += inside;
  }
  return boundsMs.at(-1);
}

/** Span of a series of numbers for pages: half an hour in intervals of ten seconds. */
export const halfHour = { intervalMs: 10_000, intervalCount: 180 } as const;
/** Span of a series of numbers for pages: a day in intervals of five minutes. */
export const day = { intervalMs: 300_000, intervalCount: 288 } as const;

type Intervals = { readonly intervalMs: number; readonly intervalCount: number };

/** Creates counters of recent calls per time interval. */
export function createRecentCalls({ intervalMs, intervalCount }: Intervals = halfHour) {
  /** `number`: number of the interval that the slot counts, starting at the epoch. */
  const slots = Array.from({ length: intervalCount }, () => ({
    number: -1,
    calls: 0,
    errors: 0,
    buckets: new Uint32Array(bucketCount),
  }));

  return {
    /** Counts a call. `bucket` is the histogram bucket of its duration, `endedAt` is in ms since the epoch. */
    record(endedAt: number, bucket: number, isError: boolean): void {
      const number = Math.floor(endedAt / intervalMs);
      const slot = slots[number % intervalCount];
      if (!slot) return;
      if (slot.number !== number) {
        slot.number = number;
        slot.calls = 0;
        slot.errors = 0;
        slot.buckets.fill(0);
      }
      slot.calls++;
      if (isError) slot.errors++;
      slot.buckets[bucket] = (slot.buckets[bucket] ?? 0) + 1;
    },
    /** Returns all intervals up to `now` (ms since the epoch), the oldest first, including those without calls. */
    intervals(now: number) {
      const next = Math.floor(now / intervalMs) + 1;
      return Array.from({ length: intervalCount }, (_, index) => {
        const number = next - intervalCount + index;
        const slot = slots[number % intervalCount];
        const current = slot?.number === number ? slot : undefined;
        return {
          /** Start of the interval, in milliseconds since the epoch. */
          at: number * intervalMs,
          calls: current?.calls ?? 0,
          errors: current?.errors ?? 0,
          /** Median duration in ms. Undefined without calls. */
          p50Ms: current && quantileMs(current.buckets, 0.5),
          p99Ms: current && quantileMs(current.buckets, 0.99),
        };
      });
    },
  };
}
