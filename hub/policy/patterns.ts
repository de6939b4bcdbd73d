/** Returns true if a text matches one of several patterns. */
export type Matches = (text: string) => boolean;

/** `*` in a pattern matches any number of characters, also none. All other characters match themselves. */
const isPattern = (text: string): boolean => text.includes('*');

/** Compiles patterns without backtracking: the time of a match grows only with the length of the text. */
export function compilePatterns(patterns: readonly string[]): Matches {
  if (patterns.includes('*')) return () => true;
  const literals = new Set(patterns.filter(pattern => !isPattern(pattern)));
  const globs = patterns.filter(isPattern).map(compilePattern);
  return globs.length === 0
    ? text => literals.has(text)
    : text => literals.has(text) || globs.some(matches => matches(text));
}

function compilePattern(pattern: string): Matches {
  const [start = '', ...rest] = pattern.split('*');
  const end = rest.pop() ?? '';
  return text => {
    if (text.length < start.length + end.length) return false;
    if (!text.startsWith(start) || !text.endsWith(end)) return false;
    let at = start.length;
    for (const part of rest) {
      at = text.indexOf(part, at);
      if (at < 0) return false;
      at += part.length;
    }
    return at <= text.length - end.length;
  };
}
