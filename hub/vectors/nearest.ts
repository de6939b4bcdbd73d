/** A vector of length one in memory. */
export type StoredVector = {
  /** Number of its point in the file. */
  readonly number: number;
  readonly vector: Float32Array;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
};

export type Nearest = ReturnType<typeof createNearest>;

/** Keeps the `limit` points with the highest scores above `minScore`. All vectors have length one. */
export function createNearest(
  query: Float32Array,
  { limit, minScore }: { readonly limit: number; readonly minScore: number },
) {
  /** The nearest first. */
  const found: { readonly number: number; readonly score: number }[] = [];
  let floor = limit < 1 ? Infinity : minScore;
  return {
    found,
    /** Compares a vector with the query. Vectors that have expired by `now` are skipped. */
    add({ number, vector, expiresAt }: StoredVector, now: number): void {
      if (expiresAt <= now) return;
      const score = Math.min(1, dotProduct(query, vector));
      if (!(score > floor)) return;
      const at = found.findIndex(one => one.score < score);
      found.splice(at < 0 ? found.length : at, 0, { number, score });
      if (found.length > limit) found.pop();
      if (found.length === limit) floor = found.at(-1)?.score ?? floor;
    },
  };
}

/** Four independent sums: the processor computes them in parallel. */
function dotProduct(a: Float32Array, b: Float32Array): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  const whole = a.length - (a.length % 4);
  for (let at = 0; at < whole; at += 4) {
    first += (a[at] ?? 0) * (b[at] ?? 0);
    second += (a[at + 1] ?? 0) * (b[at + 1] ?? 0);
    third += (a[at + 2] ?? 0) * (b[at + 2] ?? 0);
    fourth += (a[at + 3] ?? 0) * (b[at + 3] ?? 0);
  }
  for (let at = whole; at < a.length; at++) first += (a[at] ?? 0) * (b[at] ?? 0);
  return first + second + third + fourth;
}
