/** Gives equal texts as one string, so that a thousand calls of one tool keep its name but once. */
export interface Names {
  of(text: string): string;
}

/** When more are known, all are forgotten: clients may name what they like. */
const maxNames = 2_000;
/** Longer texts are cut: a URI may hold a whole document. */
export const maxNameLength = 300;

export function createNames(): Names {
  const known = new Map<string, string>();
  let last = '';
  return {
    of(text) {
      // One call is mostly like the one before.
      if (text === last) return last;
      const found = known.get(text);
      if (found !== undefined) return (last = found);
      if (known.size >= maxNames) known.clear();
      // Joined, it would hold on to the whole text that it was cut from.
      const kept =
        text.length > maxNameLength
          ? Buffer.from(`${text.slice(0, maxNameLength)}…`).toString()
          : text;
      known.set(kept, kept);
      return kept;
    },
  };
}
