import { refusal } from './refusal.ts';

/** Where a request is aimed, taken apart. `path` has no version and no escapes; names in `query` are unique. */
export type Target = {
  /** `/v1.43`, or empty: the engine's newest. */
  readonly version: string;
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
};

/**
 * Takes a request target apart, and refuses every spelling that a proxy and an engine could read in
 * two ways: escapes in the path, empty or dot segments, absolute forms, repeated parameters.
 */
export function parseTarget(target: string): Target {
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

/** A value as the log and the caller see it: quoted, without control characters, and not endless. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 120 ? `${text.slice(0, 120)}...` : text;
}
