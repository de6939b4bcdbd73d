import { isObject } from '#core';
import { refusal } from './refusal.ts';
import { show } from './target.ts';

/** The allowed parameters of a call, each with a check of its value. */
export type QueryRules = { readonly [parameter: string]: (value: string) => boolean };

/** Accepts values that match the expression. */
export function pattern(expression: RegExp): (value: string) => boolean {
  return value => expression.test(value);
}

/** Accepts one of these words. */
export function anyOf(...words: readonly string[]): (value: string) => boolean {
  return value => words.includes(value);
}

/** Accepts a boolean as the engine reads it. */
export const flag = anyOf('0', '1', 'true', 'false');

/** Rebuilds a query from allowed parameters. Throws HUB_BROKER_REFUSED for any other parameter or value. */
export function rebuildQuery(
  given: ReadonlyMap<string, string>,
  allowed: QueryRules,
): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of given) {
    const check = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
    if (check === undefined) throw refusal(`the parameter ${show(name)}`);
    if (!check(value)) throw refusal(`${show(value)} as the parameter ${show(name)}`);
    query.set(name, value);
  }
  return query;
}

/**
 * Rebuilds the `filters` of a list or of the event stream, adding `label`, so that only objects with it are
 * visible: the engine combines labels with "and". `others` are further filters that a client may set.
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

/** Parses a parameter that must be a JSON object. Throws HUB_BROKER_REFUSED. */
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
