const maxShown = 60;

const wordsByType: ReadonlyMap<string, string> = new Map([
  ['string', 'a string'],
  ['boolean', 'true or false'],
  ['int', 'a whole number'],
  ['array', 'a list'],
  ['object', 'an object'],
]);

/** Returns a value of a request for an error message, as JSON of at most 60 characters, with "..." if it is longer. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()}...` : text;
}

/** Returns words for a type of zod, such as `a whole number` for `int`, for messages to the author of a request. */
export const typeInWords = (type: string): string =>
  wordsByType.get(type) ?? `a value of type ${type}`;
