import { isObject } from '#core';
import { type Near, VectorsFailure } from './vectors.ts';

/** The names of all collections. This and the other functions throw a VectorsFailure for an unexpected answer. */
export function collectionsIn(result: unknown): readonly string[] {
  return listAt(result, 'collections').map(entry => textAt(entry, 'name'));
}

/** The dimensions of a collection, and the payload fields that have an index. */
export function schemaIn(result: unknown): {
  readonly dimensions: number;
  readonly indexed: readonly string[];
} {
  const size = ['config', 'params', 'vectors', 'size'].reduce(childOf, result);
  if (typeof size !== 'number') throw unexpected('config.params.vectors.size');
  return { dimensions: size, indexed: Object.keys(childOf(result, 'payload_schema') ?? {}) };
}

export function countIn(result: unknown): number {
  const count = childOf(result, 'count');
  if (typeof count !== 'number') throw unexpected('count');
  return count;
}

/** The ids of points. Ids that are not strings are skipped: the hub puts none. */
export function pointIdsIn(result: unknown): readonly string[] {
  return listAt(result, 'points').flatMap(point => {
    const id = childOf(point, 'id');
    return typeof id === 'string' ? [id] : [];
  });
}

/** Points with a score above `minScore`, without the field that the hub adds to payloads. */
export function nearIn(result: unknown, minScore: number): readonly Near[] {
  return listAt(result, 'points').flatMap(point => {
    const score = childOf(point, 'score');
    if (typeof score !== 'number') throw unexpected('score');
    // Qdrant rounds the bound to 32 bits, and a cosine may be above 1 by rounding.
    if (!(score > minScore)) return [];
    return [{ id: textAt(point, 'id'), score: Math.min(1, score), payload: payloadOf(point) }];
  });
}

function payloadOf(point: unknown): Near['payload'] {
  const payload = childOf(point, 'payload');
  if (!isObject(payload)) throw unexpected('payload');
  const entries = Object.entries(payload).flatMap(([key, value]) => {
    if (typeof value !== 'string' && typeof value !== 'number') throw unexpected(`payload.${key}`);
    return key === 'put_at' ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}

function listAt(value: unknown, key: string): readonly unknown[] {
  const list = childOf(value, key);
  if (!Array.isArray(list)) throw unexpected(key);
  return list;
}

function textAt(value: unknown, key: string): string {
  const text = childOf(value, key);
  if (typeof text !== 'string') throw unexpected(key);
  return text;
}

const childOf = (value: unknown, key: string): unknown =>
  isObject(value) ? value[key] : undefined;

const unexpected = (key: string) =>
  new VectorsFailure(
    'malformed',
    `Qdrant answers without ${key}, or with one that is not as described`,
  );
