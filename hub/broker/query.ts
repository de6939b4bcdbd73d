import { isObject } from '#core';
import { refusal } from './refusal.ts';
import { show } from './target.ts';

/** The parameters that a call may have, each with a check of its value. */
export type Query = { readonly [parameter: string]: (value: string) => boolean };

/** A check: the whole value matches. */
export function pattern(expression: RegExp): (value: string) => boolean {
  return value => expression.test(value);
}

/** A check: one of these words. */
export function anyOf(...words: readonly string[]): (value: string) => boolean {
  return value => words.includes(value);
}

/** A check: a truth value as the engine reads it. */
export const flag = anyOf('0', '1', 'true', 'false');

/** The query again, from admitted parameters only. Throws at the first that is not admitted. */
export function rebuildQuery(given: ReadonlyMap<string, string>, admitted: Query): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of given) {
    const check = Object.hasOwn(admitted, name) ? admitted[name] : undefined;
    if (check === undefined) throw refusal(`the parameter ${show(name)}`);
    if (!check(value)) throw refusal(`${show(value)} as the parameter ${show(name)}`);
    query.set(name, value);
  }
  return query;
}

/**
 * The `filters` of a list or of the event stream, again, so that only what carries `label` is seen: the
 * engine joins labels by "and". `others` are the further filters that may narrow it.
 */
export function rebuildFilters(
  text: string | undefined,
  label: string,
  others: readonly string[],
): string {
  const rebuilt: Record<string, readonly string[]> = {};
  const labels = new Set([label]);
  for (const [name, values] of Object.entries(parseObject(text ?? '{}', 'filters'))) {
    if (!isStrings(values)) throw refusal(`filters that are not lists of words: ${show(values)}`);
    if (name === 'label') for (const each of values) labels.add(each);
    else if (others.includes(name)) rebuilt[name] = values;
    else throw refusal(`the filter ${show(name)}`);
  }
  return JSON.stringify({ ...rebuilt, label: Array.from(labels) });
}

/** A parameter that holds a JSON object. Throws when it does not. */
export function parseObject(text: string, parameter: string): { readonly [key: string]: unknown } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refusal(`${show(text)} as the parameter ${show(parameter)}: it is not JSON`);
  }
  if (!isObject(value)) throw refusal(`${show(text)} as the parameter ${show(parameter)}`);
  return value;
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string');
}
