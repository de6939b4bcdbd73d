/**
 * Upper bounds of the buckets in seconds. They start at 25 µs because the hub adds far less than a millisecond.
 */
export const boundsSeconds: readonly number[] = [
  0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1,
  0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

const boundsMs = Float64Array.from(boundsSeconds, seconds => seconds * 1000);

/** One bucket for each bound, and a last one for everything above. */
export const bucketCount = boundsMs.length + 1;

/** Index of the bucket for a time in milliseconds: the first whose bound is not below it. */
export function bucketOf(milliseconds: number): number {
  let low = 0;
  let high = boundsMs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (milliseconds <= (boundsMs[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Estimates a quantile in milliseconds (`share` is from 0 to 1) by linear interpolation within a bucket, as
 * Prometheus does. Returns the highest bound if the quantile lies above all bounds, and undefined without
 * observations.
 */
export function quantileMs(counts: ArrayLike<number>, share: number): number | undefined {
  let count = 0;
  for (let bucket = 0; bucket < bucketCount; bucket++) count += counts[bucket] ?? 0;
  if (count === 0) return undefined;
  const rank = share * count;
  let below = 0;
  for (let bucket = 0; bucket < boundsMs.length; bucket++) {
    const inside = counts[bucket] ?? 0;
    if (inside > 0 && below + inside >= rank) {
      const lower = boundsMs[bucket - 1] ?? 0;
      const upper = boundsMs[bucket] ?? 0;
      return lower + ((upper - lower) * (rank - below)) / inside;
    }
    below += inside;
  }
  return boundsMs[boundsMs.length - 1];
}
