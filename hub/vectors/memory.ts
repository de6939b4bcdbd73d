/** A vector in memory, normalised to length one. */
export type StoredVector = {
  readonly number: number;
  readonly vector: Float32Array;
  /** Time of expiry in milliseconds since the epoch. */
  readonly expiresAt: number;
};

/** Vectors of one scope, ordered by their numbers. */
export type VectorChunk = {
  readonly vectors: readonly StoredVector[];
  /** Number of the last point of the chunk. A damaged point is not in `vectors`. */
  readonly upTo: number;
};

/** The part of a scope that is in memory. An iteration over `vectors` includes entries added meanwhile. */
type ScopeInMemory = {
  readonly vectors: Map<number, StoredVector>;
  /** Number up to which all points of the scope are in memory. */
  upTo: number;
  /** True if the file has no points after `upTo`. */
  isComplete: boolean;
};

/** Maximum number of scopes in memory, including empty ones. */
const maxScopes = 1_000;
/** Approximate memory of one vector in bytes, in addition to its numbers. */
const overheadBytes = 512;

const bytesOf = ({ vector }: StoredVector): number => vector.byteLength + overheadBytes;

/**
 * Creates an in-memory store of the vectors of recently used scopes, of at most `maxBytes`. The scopes that were opened
 * least recently are dropped first; their vectors are still in the file.
 */
export function createMemory({ maxBytes }: { readonly maxBytes: number }) {
  /** Scopes by key, the least recently opened first. */
  const scopes = new Map<string, ScopeInMemory>();
  let usedBytes = 0;

  function drop(key: string, { vectors }: ScopeInMemory): void {
    scopes.delete(key);
    for (const stored of vectors.values()) usedBytes -= bytesOf(stored);
  }

  /** Adds vectors, and drops other scopes to make room. Returns false if there is not enough room even then. */
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
    /** Returns a scope, and marks it as recently used. A scope that is not in memory starts empty. */
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
     * Appends the points that follow `after` in the file; `chunk` is undefined if none follow. Does nothing unless the
     * scope in memory ends at `after` and the chunk fits.
     */
    append(key: string, after: number, chunk: VectorChunk | undefined): void {
      const scope = scopes.get(key);
      if (scope?.upTo !== after) return;
      if (chunk) insert(scope, chunk);
      else scope.isComplete = true;
    },
    /** Adds a new point to a scope, if the scope is completely in memory. */
    add(key: string, stored: StoredVector): void {
      const scope = scopes.get(key);
      // If there is no room, this point and later ones are read from the file.
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

/** Creates a collector of the `limit` points with the highest scores above `minScore`. All vectors have length one. */
export function createNearest(
  query: Float32Array,
  { limit, minScore }: { readonly limit: number; readonly minScore: number },
) {
  /** Points found so far, the nearest first. */
  const found: { readonly number: number; readonly score: number }[] = [];
  let floor = limit < 1 ? Infinity : minScore;
  return {
    found,
    /** Compares a vector with the query, unless it has expired by `now`, in milliseconds since the epoch. */
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

/** Dot product with four independent sums, which the processor computes in parallel. */
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
