import { type Json, isObject } from './json.ts';

/**
 * Parses JSON. An integer that JavaScript cannot represent exactly, such as an id above 2^53, and a number that it
 * reads as infinite, such as 1e999, become an object that is written as the same text again. Throws SyntaxError.
 */
export const parseExactly = (text: string): Json => JSON.parse(text, keepDigits);

/** Parses JSON as `parseExactly` does, but returns undefined for text that is not JSON. */
export function tryParseExactly(text: string): Json | undefined {
  try {
    return parseExactly(text);
  } catch {
    return undefined; // The caller decides whether this is an error.
  }
}

/** True for an object that `parseExactly` created for a number. */
export function isExactNumber(value: object): boolean {
  const isRawJson: unknown = Reflect.get(JSON, 'isRawJSON');
  return typeof isRawJson === 'function' && Reflect.apply(isRawJson, JSON, [value]) === true;
}

// ES2026: the third parameter contains the source text of the value, and `JSON.rawJSON` writes it unchanged. TypeScript
// has no types for either.
function keepDigits(_: string, value: unknown, ...[context]: readonly unknown[]): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = isObject(context) ? context['source'] : undefined;
  const isKept = typeof source === 'string' && (/^-?\d+$/.test(source) || !Number.isFinite(value));
  if (!isKept) return value;
  const rawJson: unknown = Reflect.get(JSON, 'rawJSON');
  return typeof rawJson === 'function' ? Reflect.apply(rawJson, JSON, [source]) : value;
}
