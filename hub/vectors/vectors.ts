import { type Service, messageOf } from '#core';

export type Point = {
  /** UUID of the point. It replaces a point of the collection with the same id, and counts as the newest. */
  readonly id: string;
  /** Vector of any length but zero. It is normalised to length one. */
  readonly vector: Float32Array;
  /** Payload. Must have the strings `scope` and `tag`, and `expires_at` in milliseconds since the epoch. */
  readonly payload: Readonly<Record<string, string | number>>;
};

/** A point found by a look-up. `score` is the cosine similarity, from -1 to 1. */
export type Near = Omit<Point, 'vector'> & { readonly score: number };

type VectorsStats = {
  readonly backend: 'embedded' | 'qdrant';
  readonly status: 'up' | 'down';
  /** Number of points that have not expired; undefined if they cannot be counted. */
  readonly entries: number | undefined;
  readonly error: string | undefined;
  /** Name and version of Qdrant, if Qdrant is used. */
  readonly detail?: string;
};

export type VectorsFailureKind =
  | 'unreachable'
  | 'timeout'
  | 'refused'
  | 'full'
  | 'dimension'
  | 'malformed'
  | 'corrupt'
  | 'cancelled'
  | 'stopped';

/** A failed call to a vector index. The semantic cache treats it as a miss. */
export class VectorsFailure extends Error {
  override readonly name = 'VectorsFailure';
  readonly kind: VectorsFailureKind;
  /** HTTP status with which Qdrant refused the call; undefined for other failures. */
  readonly status: number | undefined;

  constructor(kind: VectorsFailureKind, message: string, status?: number) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** A vector index with exact look-ups by cosine similarity. Methods reject with a VectorsFailure, except `stats`. */
export interface Vectors extends Service {
  /**
   * Stores a point. Resolves when look-ups find it, and the oldest points of the scope beyond `maxPerScope` are
   * removed. The first vector of a collection sets its number of dimensions; others are refused.
   */
  put(
    collection: string,
    point: Point,
    bounds: { readonly scope: string; readonly maxPerScope: number },
    signal?: AbortSignal,
  ): Promise<void>;
  /**
   * Returns the `limit` nearest points of a scope with a score above `minScore`, the nearest first. The search is
   * exact. Expired points are skipped, and a missing collection counts as empty.
   */
  near(
    collection: string,
    vector: Float32Array,
    options: { readonly scope: string; readonly limit: number; readonly minScore: number },
    signal?: AbortSignal,
  ): Promise<readonly Near[]>;
  /** Removes the points with a tag, or all points, from all collections. Resolves with their number. */
  removeTag(tag?: string): Promise<number>;
  /** Returns the statistics of the index. Never rejects. */
  stats(): Promise<VectorsStats>;
}

/** Payload fields that indexes use as filters. */
export type Fields = { readonly scope: string; readonly tag: string; readonly expiresAt: number };

/** Reads the filter fields of a payload. Throws a VectorsFailure if one is missing. */
export function fieldsOf({ payload }: Point, scope: string): Fields {
  const { scope: own, tag, expires_at: expiresAt } = payload;
  if (own !== scope)
    throw new VectorsFailure('malformed', `scope: ${String(own)} in the payload, not ${scope}`);
  if (typeof tag !== 'string')
    throw new VectorsFailure('malformed', `tag: ${String(tag)} in the payload is not text`);
  if (typeof expiresAt !== 'number' || !Number.isSafeInteger(expiresAt))
    throw new VectorsFailure(
      'malformed',
      `expires_at: ${String(expiresAt)} in the payload is not a whole number of milliseconds`,
    );
  return { scope, tag, expiresAt };
}

/** Normalises a vector to length one. Throws a VectorsFailure if its length is zero or not finite. */
export function unitOf(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!(squares > 0 && squares < Infinity))
    throw new VectorsFailure('malformed', `a vector of ${vector.length} numbers has no direction`);
  const length = Math.sqrt(squares);
  return vector.map(value => value / length);
}

/** Returns the failure for a vector whose number of dimensions differs from that of the collection. */
export function dimensionFailure(
  collection: string,
  { has, got }: { readonly has: number; readonly got: number },
): VectorsFailure {
  return new VectorsFailure(
    'dimension',
    `the collection ${collection} holds vectors of ${has} numbers, and this one has ${got}: the embedding model has changed. Set the former model again, or use another collection`,
  );
}

/** Returns the statistics of an index. It is `down` if its points cannot be counted, or the last operation failed. */
export async function statsOf(
  backend: VectorsStats['backend'],
  count: () => number | Promise<number>,
  outcomes: { readonly failure: string | undefined },
): Promise<VectorsStats> {
  let entries: number | undefined;
  let error: string | undefined;
  try {
    entries = await count();
    error = outcomes.failure;
  } catch (failure) {
    error = messageOf(failure);
  }
  return { backend, status: error === undefined ? 'up' : 'down', entries, error };
}
