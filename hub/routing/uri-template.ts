/** A part of a template: literal text, or a variable with the characters that its value may not contain. */
type Part = { readonly literal: string } | { readonly forbidden: string };

/**
 * Maximum length of a URI in characters. Longer URIs and templates with more parts match nothing: matching them is
 * slow.
 */
const maxUriLength = 2048;
const maxParts = 32;

/**
 * Steps left for many matches together. A step compares about one character. `isUnsure` is set if a match used up the
 * budget: the URI starts as the template does, and may match.
 */
export type Budget = { stepsLeft: number; isUnsure?: boolean };

/** True if the template matches. False also if the budget is exhausted. */
type Matcher = (uri: string, budget: Budget) => boolean;

/**
 * Creates a matcher for a URI template (RFC 6570). Literals match themselves. An expression matches any text up to a
 * slash; `{+...}`, `{#...}`, `{?...}`, `{&...}` and `{...*}` also match slashes. No expression ends at `?` or `#`, as
 * in the servers of the SDKs and FastMCP: the policy would otherwise miss that they read the template. The time is
 * proportional to the lengths of both, for every template, since a server may send any template. If the literal prefix
 * of the template differs from the URI, which is the usual case, the match costs almost nothing.
 */
export function matcherOf(template: string): Matcher {
  const parts = template
    .split(/(\{[^{}]*\})/)
    .filter(part => part !== '')
    .map((part): Part => {
      if (!part.startsWith('{') || !part.endsWith('}')) return { literal: part };
      return { forbidden: /^\{[+#?&]|\*\}$/.test(part) ? '' : '/' };
    });
  const [first] = parts;
  const start = first && 'literal' in first ? first.literal : '';
  const rest = start === '' ? parts : parts.slice(1);
  return (uri, budget) => {
    budget.stepsLeft--;
    if (!uri.startsWith(start)) return false;
    const isTooLong = uri.length > maxUriLength || parts.length > maxParts;
    if (budget.stepsLeft >= 0 && !isTooLong && matches(rest, uri, start.length, budget))
      return true;
    if (budget.stepsLeft < 0 || isTooLong) budget.isUnsure = true;
    return false;
  };
}

/** True if the URI matches. Tracks all positions at which the parts so far can end, starting with `start`. */
function matches(parts: readonly Part[], uri: string, start: number, budget: Budget): boolean {
  const { length } = uri;
  let ends = new Uint8Array(length + 1);
  ends[start] = 1;
  for (const part of parts) {
    const from = ends.indexOf(1);
    if (from < 0) return false;
    budget.stepsLeft -= length + 1 - from;
    const next = new Uint8Array(length + 1);
    if ('literal' in part) {
      const { literal } = part;
      for (let at = from; at + literal.length <= length && budget.stepsLeft >= 0; at++)
        if (ends[at] === 1) {
          budget.stepsLeft -= literal.length;
          if (uri.startsWith(literal, at)) next[at + literal.length] = 1;
        }
    } else {
      const { forbidden } = part;
      let open = 0;
      for (let at = from; at <= length; at++) {
        if (open === 1 && forbidden !== '' && forbidden.includes(uri.charAt(at - 1))) open = 0;
        open |= ends[at] ?? 0;
        next[at] = open;
      }
    }
    if (budget.stepsLeft < 0) return false;
    ends = next;
  }
  return ends[length] === 1;
}
