/** A vector of length one in memory. */
export type StoredVector = {
  readonly number: number;
  readonly vector: Float32Array;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
};

/** Vectors of one scope, in the order of their numbers. */
export type VectorChunk = {
  readonly vectors: readonly StoredVector[];
  /** Number of the last point of the chunk, which may be damaged and so not in `vectors`. */
  readonly upTo: number;
};

/** The part of a scope that is in memory. An iteration over `vectors` sees later changes. */
type ScopeInMemory = {
  readonly vectors: Map<number, StoredVector>;
  /** All points up to this number are in memory. */
  upTo: number;
  /** The file has no points after `upTo`. */
  isComplete: boolean;
};

/** Maximum number of scopes, empty ones included. */
const maxScopes = 1_000;
/** Approximate memory of one vector besides its numbers. */
const overheadBytes = 512;

const bytesOf = ({ vector }: StoredVector): number => vector.byteLength + overheadBytes;

/**
 * Vectors of the scopes used last, at most `maxBytes`; the others are in the file only. The scopes that were not opened
 * for the longest time are dropped first.
 */
export function createMemory({ maxBytes }: { readonly maxBytes: number }) {
  /** Least recently opened first. */
  const scopes = new Map<string, ScopeInMemory>();
  let usedBytes = 0;

  function drop(key: string, { vectors }: ScopeInMemory): void {
    scopes.delete(key);
    for (const stored of vectors.values()) usedBytes -= bytesOf(stored);
  }

  /** Adds vectors, and drops other scopes for them; false where there is no room even then. */
  function insert(scope: ScopeInMemory, { vectors, upTo }: VectorChunk): boolean {
    const needed = vectors.reduce((sum, stored) => sum + bytesOf(stored), 0);
    if (needed > maxBytes) return false;
    for (const [key, other] of scopes) {
      if (usedBytes + needed <= maxBytes) break;
      if (other !== scope) drop(key, other);
    }
    if (usedBytes + needed > maxBytes) return false;
    for (const stored of vectors) scope.vectors.set(stored.number, stored);
    scope.upTo = upTo;
    usedBytes += needed;
    return true;
  }

  return {
    /** A scope that is not in memory is empty at first. */
    open(key: string): Readonly<ScopeInMemory> {
      const scope = scopes.get(key) ?? { vectors: new Map(), upTo: 0, isComplete: false };
      scopes.delete(key);
      scopes.set(key, scope);
      for (const [oldest, other] of scopes) {
        if (scopes.size <= maxScopes) break;
        drop(oldest, other);
      }
      return scope;
    },
    /**
     * Appends the points that follow `after` in the file; undefined if none follow. Does nothing unless the part in
     * memory ends at `after` and the chunk fits.
     */
    append(key: string, after: number, chunk: VectorChunk | undefined): void {
      const scope = scopes.get(key);
      if (scope?.upTo !== after) return;
      if (chunk) insert(scope, chunk);
      else scope.isComplete = true;
    },
    /** Adds a new point to a scope that is completely in memory. */
    add(key: string, stored: StoredVector): void {
      const scope = scopes.get(key);
      // Without room the point is read from the file, and so are those that follow.
      if (scope?.isComplete)
        scope.isComplete = insert(scope, { vectors: [stored], upTo: stored.number });
    },
    remove(key: string, number: number): void {
      const vectors = scopes.get(key)?.vectors;
      const stored = vectors?.get(number);
      if (stored && vectors?.delete(number)) usedBytes -= bytesOf(stored);
    },
    clear(): void {
      scopes.clear();
      usedBytes = 0;
    },
  };
}

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
