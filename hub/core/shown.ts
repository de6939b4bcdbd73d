const maxShown = 60;
const maxProblems = 20;

const wordsByType: ReadonlyMap<string, string> = new Map([
  ['string', 'a string'],
  ['boolean', 'true or false'],
  ['int', 'a whole number'],
  ['array', 'a list'],
  ['object', 'an object'],
]);

/** Returns a value of a request for an error message, as JSON of at most 60 characters, with "..." if it is longer. */
export function shown(value: unknown): string {
  return shortened(JSON.stringify(value) ?? String(value));
}

/** Shortens a name of a request for an error message to 60 characters, with "..." if it is longer. */
export const shortened = (name: string): string =>
  name.length > maxShown ? `${name.slice(0, maxShown).toWellFormed()}...` : name;

/** Returns the first 20 problems of a request for an error message, and the number of the others as a last entry. */
export function firstProblems(problems: readonly string[]): readonly string[] {
  const more = problems.length - maxProblems;
  if (more <= 0) return problems;
  return [...problems.slice(0, maxProblems), `and ${more} more problem${more === 1 ? '' : 's'}`];
}

/** Returns words for a type of zod, such as `a whole number` for `int`, for messages to the author of a request. */
export const typeInWords = (type: string): string =>
  wordsByType.get(type) ?? `a value of type ${type}`;
