/** Redacts, truncates and quotes texts of clients for audit lines. */
export type Texts = ReturnType<typeof createTexts>;

/** Maximum length of a client's text in a line, in characters. Longer texts are truncated. */
export const maxText = 300;
/** Maximum length of a text that is redacted, in characters. Longer texts take too long, and are omitted. */
const maxRedacted = 256 * 1024;
/** Maximum number of cached texts. The cache is cleared when full. */
const maxTexts = 2_000;

/** Creates the functions that redact and cut texts. Results are cached: redaction is the costliest part of a line. */
export function createTexts(redact: (text: string) => string) {
  const known = new Map<string, string>();

  function quoted(text: string): string {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (text.length > maxRedacted) return `"(${text.length} characters)"`;
    // Truncated after redaction, which recognizes only whole secrets.
    const made = JSON.stringify(redact(text).slice(0, maxText));
    if (text.length > maxText) return made;
    if (known.size >= maxTexts) known.clear();
    known.set(text, made);
    return made;
  }

  return {
    /** Returns a JSON member with a comma before it; an empty text if the value is undefined. */
    member: (name: string, text: string | undefined): string =>
      text === undefined ? '' : `,"${name}":${quoted(text)}`,
    /** Clears the cache. Call it when the hub learns of other secrets. */
    forget: (): void => known.clear(),
  };
}
