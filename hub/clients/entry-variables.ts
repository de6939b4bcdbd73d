import { variablesIn } from '#config';
import type { Json } from '#core';

/** Returns the names of all variables in a value. */
export function variablesOf(value: Json): readonly string[] {
  if (typeof value === 'string') return variablesIn(value);
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(variablesOf);
}

/** Returns the names of all variables and secrets in a value. */
export const usesOf = (value: Json): readonly string[] =>
  variablesOf(value).map(name => name.replace(/^secret:/, ''));
