/** Writes texts of clients as JSON. */
export type Texts = ReturnType<typeof createTexts>;

/** Longer texts of clients are cut, in characters. */
export const maxText = 300;
/** Longer texts are left out, because they would be searched for secrets for too long, in characters. */
const maxRedacted = 256 * 1024;
/** Bound of the cache of quoted texts, which is cleared when full. */
const maxTexts = 2_000;

/** Redacts and cuts texts. Caches the results, because redaction costs more than the rest of a line. */
export function createTexts(redact: (text: string) => string) {
  const known = new Map<string, string>();

  function quoted(text: string): string {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (text.length > maxRedacted) return `"(${text.length} characters)"`;
    // Cut after redaction, which finds only whole secrets.
    const made = JSON.stringify(redact(text).slice(0, maxText));
    if (text.length > maxText) return made;
    if (known.size >= maxTexts) known.clear();
    known.set(text, made);
    return made;
  }

  return {
    /** A member of a line with the comma before it; empty for an absent text. */
    member: (name: string, text: string | undefined): string =>
      text === undefined ? '' : `,"${name}":${quoted(text)}`,
    /** Drops the cache, because other secrets are known now. */
    forget: (): void => known.clear(),
  };
}
