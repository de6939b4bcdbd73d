/** Equal for names that differ in case only, with the letters that Unicode folds into ASCII, such as `ſ` into `s`. */
const fold = (name: string): string => name.toLowerCase().toUpperCase();

/**
 * Returns a function that finds the name that some readers take another one for: those of Go's encoding/json ignore case.
 * Undefined for the names themselves, and for all that are unlike.
 */
export function createLookalikes(names: readonly string[]): (name: string) => string | undefined {
  const own = new Set(names);
  const byFold = new Map(names.map(name => [fold(name), name]));
  return name => (own.has(name) ? undefined : byFold.get(fold(name)));
}
