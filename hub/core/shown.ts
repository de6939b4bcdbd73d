const maxShown = 60;

/** A value of a request as an error message shows it: JSON of at most 60 characters, and "..." where there is more. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()}...` : text;
}
