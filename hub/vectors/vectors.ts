import type { Part } from '#core';

/** What is kept of a prompt: where it lies, and what is told of it when it is found. */
export type Point = {
  /** A UUID. Another point of this id in the collection is replaced, and counts as new. */
  readonly id: string;
  /** Of any length but zero: it is kept at the length of one. */
  readonly vector: Float32Array;
  /** With texts `scope` and `tag`, and `expires_at` in milliseconds since the epoch. */
  readonly payload: Readonly<Record<string, string | number>>;
};

/** A point that lies near, with the cosine of the angle, from -1 to 1. */
export type Near = {
  readonly id: string;
  readonly score: number;
  readonly payload: Point['payload'];
};

export type VectorsStats = {
  readonly backend: 'embedded' | 'qdrant';
  readonly status: 'up' | 'down';
  /** Those that have not expired; undefined where they cannot be counted. */
  readonly entries: number | undefined;
  /** Why it is down. */
  readonly error: string | undefined;
};

/** Why an index of vectors did not do what it was asked for. */
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

/** An index of vectors that cannot be used for now, or not for this. To who asks it is a miss. */
export class VectorsFailure extends Error {
  override readonly name = 'VectorsFailure';
  readonly kind: VectorsFailureKind;

  constructor(
    kind: VectorsFailureKind,
    message: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(message, options);
    this.kind = kind;
  }
}

/** Points by the angle between them. What it rejects with is a VectorsFailure. */
export interface Vectors extends Part {
  /**
   * Resolves when the point is found by all who look for it. Of a scope with more than `maxPerScope` points
   * those that were put first are gone by then. All vectors of a collection have as many numbers as its first.
   */
  put(
    collection: string,
    point: Point,
    bounds: { readonly scope: string; readonly maxPerScope: number },
    signal?: AbortSignal,
  ): Promise<void>;
  /**
   * Of all points of a scope those with a cosine above `minScore`, the nearest first and `limit` at the most;
   * none that has expired. Exact: no nearer one is overlooked. A collection that is not there has none.
   */
  near(
    collection: string,
    vector: Float32Array,
    options: { readonly scope: string; readonly limit: number; readonly minScore: number },
    signal?: AbortSignal,
  ): Promise<readonly Near[]>;
  /** Ids that are not there are passed over. */
  remove(collection: string, ids: readonly string[]): Promise<void>;
  /** Removes what has a tag, or everything, from all collections; resolves with how much it was. */
  removeTag(tag?: string): Promise<number>;
  /** Never rejects. */
  stats(): Promise<VectorsStats>;
}

/** What an index reads of a payload. */
export type Fields = { readonly scope: string; readonly tag: string; readonly expiresAt: number };

/** The fields of a payload that an index goes by. Throws a VectorsFailure where one is missing. */
export function fieldsOf({ payload }: Point, scope: string): Fields {
  const { scope: own, tag, expires_at: expiresAt } = payload;
  if (own !== scope)
    throw new VectorsFailure('malformed', `scope: ${String(own)} in the payload, not ${scope}`);
  if (typeof tag !== 'string')
    throw new VectorsFailure('malformed', `tag: ${String(tag)} in the payload is no text`);
  if (typeof expiresAt !== 'number' || !Number.isSafeInteger(expiresAt))
    throw new VectorsFailure(
      'malformed',
      `expires_at: ${String(expiresAt)} in the payload is no whole number of milliseconds`,
    );
  return { scope, tag, expiresAt };
}

/** A vector of the same direction and the length of one. Throws a VectorsFailure where it has no direction. */
export function unitOf(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!(squares > 0 && squares < Infinity))
    throw new VectorsFailure('malformed', `a vector of ${vector.length} numbers has no direction`);
  const length = Math.sqrt(squares);
  return vector.map(value => value / length);
}

/** What both kinds of index say of a vector that does not fit. */
export function dimensionFailure(
  collection: string,
  { has, got }: { readonly has: number; readonly got: number },
): VectorsFailure {
  return new VectorsFailure(
    'dimension',
    `the collection ${collection} holds vectors of ${has} numbers, and this one has ${got}: the embedding model is another one. Name the model back, or have another collection for this one`,
  );
}
