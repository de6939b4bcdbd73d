/**
 * Returns the same text for names that differ only in case, or in letters such as `ſ` that Unicode folds into ASCII.
 */
const fold = (name: string): string => name.toLowerCase().toUpperCase();

/**
 * Creates a function that returns which of the names a similar name could be read as, such as `params` for `Params`:
 * Go's encoding/json ignores case. Undefined for the names themselves, and for names that are not similar.
 */
export function createLookalikes(names: readonly string[]): (name: string) => string | undefined {
  const own = new Set(names);
  const byFold = new Map(names.map(name => [fold(name), name]));
  return name => (own.has(name) ? undefined : byFold.get(fold(name)));
}
