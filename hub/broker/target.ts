import { isObject, tryParseJson } from '#core';
import { refusal, show } from './refusal.ts';

/** A parsed request target. `path` has no version and no escapes; parameter names are unique. */
export type RequestTarget = {
  /** API version, such as `/v1.43`; empty for the engine's newest version. */
  readonly version: string;
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
};

/**
 * Parses a request target. Throws HUB_BROKER_REFUSED for every spelling that a proxy and an engine could read
 * differently: escapes in the path, empty or dot segments, absolute forms, repeated parameters.
 */
export function parseTarget(target: string): RequestTarget {
  const [raw = '', queryText, ...more] = target.split('?');
  if (more.length > 0) throw refusal('a request target with more than one question mark');
  const match = /^(\/v1\.\d{1,3})?(\/[\w.:@/-]+)$/.exec(raw);
  const path = match?.[2];
  if (path === undefined) throw refusal(`the path ${show(raw)}`);
  const segments = path.slice(1).split('/');
  if (segments.some(segment => segment === '' || segment === '.' || segment === '..')) {
    throw refusal(`the path ${show(raw)}`);
  }
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(queryText)) {
    if (query.has(name)) throw refusal(`the parameter ${show(name)} twice`);
    query.set(name, value);
  }
  return { version: match?.[1] ?? '', path, query };
}

/** The allowed parameters of a call, each with a check of its value. */
export type QueryRules = { readonly [parameter: string]: Pick<RegExp, 'test'> };

/** Matches a boolean as the engine reads it. */
export const flag = /^(?:0|1|true|false)$/;

/** Rebuilds a query from allowed parameters. Throws HUB_BROKER_REFUSED for any other parameter or value. */
export function rebuildQuery(
  given: ReadonlyMap<string, string>,
  allowed: QueryRules,
): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of given) {
    const rule = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
    if (rule === undefined) throw refusal(`the parameter ${show(name)}`);
    if (!rule.test(value)) throw refusal(`${show(value)} as the parameter ${show(name)}`);
    query.set(name, value);
  }
  return query;
}

/**
 * Rebuilds the `filters` of a list or of the event stream, adding `label`, so that only objects with this label are
 * visible: the engine combines labels with "and". `others`: names of further filters that a client may set.
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
  const value = tryParseJson(text);
  if (isObject(value)) return value;
  const problem = value === undefined ? ': it is not JSON' : '';
  throw refusal(`${show(text)} as the parameter ${show(parameter)}${problem}`);
}

const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(each => typeof each === 'string');
