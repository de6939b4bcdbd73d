import { isObject } from '#core';
import { type Near, VectorsFailure } from '../vectors.ts';

/** Properties of a collection that the hub depends on. */
export type CollectionSchema = {
  readonly dimensions: number;
  readonly distance: string;
  readonly datatype: string;
  /** Names of the payload fields that have an index. */
  readonly indexed: readonly string[];
};

/** Returns the version in a response of `GET /`; undefined if the server is not Qdrant. */
export function versionIn(data: unknown): string | undefined {
  const version = childOf(data, 'version');
  return isText(version) ? version : undefined;
}

/** Returns the names of all collections. Like the functions below, throws VectorsFailure for a malformed response. */
export const collectionsIn = (result: unknown): readonly string[] =>
  fieldOf(result, 'collections', isList).map(entry => fieldOf(entry, 'name', isText));

export function schemaIn(result: unknown): CollectionSchema {
  const vectors = ['config', 'params', 'vectors'].reduce(childOf, result);
  const [size, distance, datatype] = ['size', 'distance', 'datatype'].map(key =>
    childOf(vectors, key),
  );
  return {
    // Collections of other programs may have several vectors per point, or none.
    dimensions: isNumber(size) ? size : 0,
    distance: isText(distance) ? distance : 'none',
    datatype: isText(datatype) ? datatype : 'float32',
    indexed: Object.keys(fieldOf(result, 'payload_schema', isObject)),
  };
}

export const countIn = (result: unknown): number => fieldOf(result, 'count', isNumber);

/** Returns the ids of points. Ids that are not strings are skipped: the hub never creates any. */
export const pointIdsIn = (result: unknown): readonly string[] =>
  fieldOf(result, 'points', isList)
    .map(point => childOf(point, 'id'))
    .filter(isText);

/** Returns the points with a score above `minScore`, without the payload field that the hub adds. */
export function nearIn(result: unknown, minScore: number): readonly Near[] {
  return fieldOf(result, 'points', isList).flatMap(point => {
    const score = fieldOf(point, 'score', isNumber);
    // Qdrant rounds `minScore` to 32 bits, and rounding may make a cosine larger than 1.
    if (!(score > minScore)) return [];
    const { put_at: _, ...payload } = fieldOf(point, 'payload', isObject);
    const entries = Object.keys(payload).map(
      key => [key, fieldOf(payload, key, isTextOrNumber, `payload.${key}`)] as const,
    );
    const id = fieldOf(point, 'id', isText);
    return [{ id, score: Math.min(1, score), payload: Object.fromEntries(entries) }];
  });
}

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number';
const isTextOrNumber = (value: unknown) => typeof value === 'string' || typeof value === 'number';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

function fieldOf<T>(
  value: unknown,
  key: string,
  isRight: (found: unknown) => found is T,
  name = key,
): T {
  const found = childOf(value, key);
  if (isRight(found)) return found;
  throw new VectorsFailure(
    'malformed',
    `Qdrant answers without ${name}, or with one that is not as described`,
  );
}

const childOf = (value: unknown, key: string): unknown =>
  isObject(value) ? value[key] : undefined;
