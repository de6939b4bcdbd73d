import { refusal } from './refusal.ts';

/** A parsed request target. `path` has no version and no escapes; parameter names are unique. */
export type RequestTarget = {
  /** `/v1.43`, or empty for the engine's newest version. */
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
  return { version: match?.[1] ?? '', path, query: parseQuery(queryText ?? '') };
}

function parseQuery(text: string): ReadonlyMap<string, string> {
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (query.has(name)) throw refusal(`the parameter ${show(name)} twice`);
    query.set(name, value);
  }
  return query;
}

/** Formats a value for messages: as JSON without control characters, at most 120 characters. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 120 ? `${text.slice(0, 120)}...` : text;
}
