export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** True for a plain JSON object; false for null and arrays. */
export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for an object, not null or an array, in a value that was parsed from JSON. */
export const isJsonObject = (value: unknown): value is JsonObject => isObject(value);

/** Parses JSON. Returns undefined if the text is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller decides whether this is an error.
    return undefined;
  }
}

/** Returns all strings in a value, at any depth. */
export function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : [];
}
