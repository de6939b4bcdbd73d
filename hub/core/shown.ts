const maxShown = 60;

const wordsByType: ReadonlyMap<string, string> = new Map([
  ['string', 'a string'],
  ['boolean', 'true or false'],
  ['int', 'a whole number'],
  ['array', 'a list'],
  ['object', 'an object'],
]);

/** A value of a request as an error message shows it: JSON of at most 60 characters, and "..." where there is more. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()}...` : text;
}

/** Tells the author of a request which type of value to write. `type` is a type of zod, such as `int`. */
export const typeInWords = (type: string): string =>
  wordsByType.get(type) ?? `a value of type ${type}`;
