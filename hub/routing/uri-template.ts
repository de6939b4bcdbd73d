/** A part of a template: text that stands as it is, or a variable and the characters it may not hold. */
type Part = { readonly literal: string } | { readonly forbidden: string };

/** Longer URIs and templates of more parts match nothing: the time of a match grows with both. */
const maxUriLength = 2048;
const maxParts = 32;

/** Work that is left for matches, shared by many of them: a step is about one character looked at. */
export type Budget = { stepsLeft: number };

/** True where the template matches. False also where the budget does not reach. */
export type Matcher = (uri: string, budget: Budget) => boolean;

/**
 * A matcher for the URIs of a URI template (RFC 6570): literals as they are, an expression for any
 * text, which for all but `{+...}` and `{#...}` ends at a slash. It takes time in proportion to the
 * lengths of both whatever the template is, since a server may write what it likes into one. A
 * template that begins with other text than the URI, as nearly all do, costs next to nothing.
 */
export function matcherOf(template: string): Matcher {
  const parts = template
    .split(/(\{[^{}]*\})/)
    .filter(part => part !== '')
    .map((part): Part => {
      if (!part.startsWith('{') || !part.endsWith('}')) return { literal: part };
      if (/^\{[+#]/.test(part)) return { forbidden: '' };
      return { forbidden: /^\{[?&]/.test(part) ? '#' : '/?#' };
    });
  const [first] = parts;
  const start = first && 'literal' in first ? first.literal : '';
  const rest = start === '' ? parts : parts.slice(1);
  return (uri, budget) => {
    budget.stepsLeft--;
    if (budget.stepsLeft < 0 || uri.length > maxUriLength || parts.length > maxParts) return false;
    return uri.startsWith(start) && matches(rest, uri, start.length, budget);
  };
}

/** Follows all the places that the parts so far can end at, the first of which is `start`. */
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
