import { isObject } from '#core';

/**
 * Parses JSON. A whole number that JavaScript cannot hold, such as an id above 2^53, becomes an object that is written as the
 * same digits again. Throws SyntaxError.
 */
export const parseExactly = (text: string): unknown => JSON.parse(text, keepDigits);

/** As `parseExactly`, but undefined for a text that is not JSON. */
export function tryParseExactly(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined; // The caller decides whether this is an error.
  }
}

// ES2026: the third parameter holds the source text of the value, and `JSON.rawJSON` writes it unchanged. TypeScript has no types for either.
function keepDigits(_: string, value: unknown, ...[context]: readonly unknown[]): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = isObject(context) ? context['source'] : undefined;
  if (typeof source !== 'string' || !/^-?\d+$/.test(source)) return value;
  const rawJson: unknown = Reflect.get(JSON, 'rawJSON');
  return typeof rawJson === 'function' ? Reflect.apply(rawJson, JSON, [source]) : value;
}
