import { type Service, messageOf } from '#core';

export type Point = {
  /** A UUID. Replaces the point with this id in the collection, and counts as the newest. */
  readonly id: string;
  /** Any length but zero: it is normalised to length one. */
  readonly vector: Float32Array;
  /** Must have the strings `scope` and `tag`, and `expires_at` in milliseconds since the epoch. */
  readonly payload: Readonly<Record<string, string | number>>;
};

/** A point that a look-up found. `score` is the cosine similarity, from -1 to 1. */
export type Near = Omit<Point, 'vector'> & { readonly score: number };

type VectorsStats = {
  readonly backend: 'embedded' | 'qdrant';
  readonly status: 'up' | 'down';
  /** Points that have not expired; undefined where they cannot be counted. */
  readonly entries: number | undefined;
  readonly error: string | undefined;
  /** The version of Qdrant. */
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

/** A failed call to a vector index. The cache treats it as a miss. */
export class VectorsFailure extends Error {
  override readonly name = 'VectorsFailure';
  readonly kind: VectorsFailureKind;
  /** The HTTP status of a refusal by Qdrant. */
  readonly status: number | undefined;

  constructor(kind: VectorsFailureKind, message: string, status?: number) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** A vector index with exact look-ups by cosine similarity. All methods reject with a VectorsFailure. */
export interface Vectors extends Service {
  /**
   * Resolves when look-ups find the point. By then the oldest points of the scope beyond `maxPerScope` are
   * removed. The first vector of a collection sets its dimensions; a vector with others is refused.
   */
  put(
    collection: string,
    point: Point,
    bounds: { readonly scope: string; readonly maxPerScope: number },
    signal?: AbortSignal,
  ): Promise<void>;
  /**
   * The `limit` nearest points of a scope with a score above `minScore`, the nearest first. The search is
   * exact. Expired points are not found, and a missing collection is empty.
   */
  near(
    collection: string,
    vector: Float32Array,
    options: { readonly scope: string; readonly limit: number; readonly minScore: number },
    signal?: AbortSignal,
  ): Promise<readonly Near[]>;
  /** Removes the points with a tag, or all points, from all collections. Resolves with their number. */
  removeTag(tag?: string): Promise<number>;
  /** Never rejects. */
  stats(): Promise<VectorsStats>;
}

/** The payload fields by which an index filters. */
export type Fields = { readonly scope: string; readonly tag: string; readonly expiresAt: number };

/** Reads the index fields of a payload. Throws a VectorsFailure where one is missing. */
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

/** Normalises a vector to length one. Throws a VectorsFailure where its length is zero or not finite. */
export function unitOf(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!(squares > 0 && squares < Infinity))
    throw new VectorsFailure('malformed', `a vector of ${vector.length} numbers has no direction`);
  const length = Math.sqrt(squares);
  return vector.map(value => value / length);
}

/** The failure for a vector whose dimensions differ from those of the collection. */
export function dimensionFailure(
  collection: string,
  { has, got }: { readonly has: number; readonly got: number },
): VectorsFailure {
  return new VectorsFailure(
    'dimension',
    `the collection ${collection} holds vectors of ${has} numbers, and this one has ${got}: the embedding model has changed. Set the former model again, or use another collection`,
  );
}

/** The statistics of an index that counts its points. It is down if that fails, or the last look-up or write did. */
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
