/** Above this many strings all are dropped: clients choose the names, so the set needs a bound. */
const maxStrings = 2_000;
/** Longer texts are cut, in characters: a data URI may contain a whole document. */
export const maxInternedLength = 300;

/** Shares one string among equal texts, so that a thousand calls of one tool store its name once. */
export function createInterner() {
  const known = new Map<string, string>();
  let last = '';
  return {
    intern(text: string): string {
      // Consecutive calls mostly have the same name.
      if (text === last) return last;
      const found = known.get(text);
      if (found !== undefined) return (last = found);
      if (known.size >= maxStrings) known.clear();
      // A copy through a Buffer, because a slice would keep the whole original string in memory.
      const stored =
        text.length > maxInternedLength
          ? Buffer.from(`${text.slice(0, maxInternedLength)}…`).toString()
          : text;
      known.set(stored, stored);
      return stored;
    },
  };
}
