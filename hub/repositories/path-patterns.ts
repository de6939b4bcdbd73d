/** Returns true if a path of a repository matches one of several patterns. */
type MatchesPath = (path: string) => boolean;

/**
 * Compiles path patterns: `*` is any text without `/`, `?` one character except `/`, and `**` between slashes any
 * number of folders. A pattern that names a folder matches everything in it. The time of a match grows with the product
 * of the lengths, whatever the pattern. `ignoreCase`: for file systems that ignore case.
 */
export function compilePathPatterns(
  patterns: readonly string[],
  { ignoreCase }: { readonly ignoreCase: boolean },
): MatchesPath {
  const fold = (text: string) => (ignoreCase ? text.normalize('NFC').toLowerCase() : text);
  const compiled = patterns.map(pattern =>
    fold(pattern)
      .replace(/^(?:\.?\/)+/, '')
      .replace(/\/+$/, '')
      .split('/'),
  );
  return path => {
    const names = fold(path).split('/');
    return compiled.some(parts => matchesNames(parts, names));
  };
}

/** True if the parts of a pattern match all names of a path, or those of a folder that contains it. */
function matchesNames(parts: readonly string[], names: readonly string[]): boolean {
  /** Counts of leading names that the parts so far can match. */
  let reached = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of reached) {
      if (part === '**') for (let to = at; to <= names.length; to++) next.add(to);
      else if (at < names.length && matchesName(part, names[at] ?? '')) next.add(at + 1);
    }
    reached = next;
  }
  return reached.size > 0;
}

/** True if a part of a pattern matches one name. Backtracks only to the last `*`. */
function matchesName(part: string, name: string): boolean {
  let inPart = 0;
  let inName = 0;
  let star = -1;
  let after = 0;
  while (inName < name.length) {
    const wanted = part[inPart];
    if (wanted === '*') {
      star = inPart++;
      after = inName;
    } else if (wanted === '?' || (wanted !== undefined && wanted === name[inName])) {
      inPart++;
      inName++;
    } else if (star >= 0) {
      inPart = star + 1;
      inName = ++after;
    } else return false;
  }
  while (part[inPart] === '*') inPart++;
  return inPart === part.length;
}
