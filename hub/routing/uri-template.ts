/** A part of a template: text that stands as it is, or a variable and the characters it may not hold. */
type Part = { readonly literal: string } | { readonly forbidden: string };

/** Longer URIs and templates of more parts match nothing: the time of a match grows with both. */
const maxUriLength = 2048;
const maxParts = 32;

/**
 * A matcher for the URIs of a URI template (RFC 6570): literals as they are, an expression for any
 * text, which for all but `{+...}` and `{#...}` ends at a slash. It takes time in proportion to the
 * lengths of both whatever the template is, since a server may write what it likes into one.
 */
export function matcherOf(template: string): (uri: string) => boolean {
  const parts = template
    .split(/(\{[^{}]*\})/)
    .filter(part => part !== '')
    .map((part): Part => {
      if (!part.startsWith('{') || !part.endsWith('}')) return { literal: part };
      if (/^\{[+#]/.test(part)) return { forbidden: '' };
      return { forbidden: /^\{[?&]/.test(part) ? '#' : '/?#' };
    });
  return uri => uri.length <= maxUriLength && parts.length <= maxParts && matches(parts, uri);
}

/** Follows all the places that the parts so far can end at. */
function matches(parts: readonly Part[], uri: string): boolean {
  const { length } = uri;
  let ends = new Uint8Array(length + 1);
  ends[0] = 1;
  for (const part of parts) {
    const next = new Uint8Array(length + 1);
    if ('literal' in part) {
      const { literal } = part;
      for (let at = uri.indexOf(literal); at >= 0; at = uri.indexOf(literal, at + 1))
        next[at + literal.length] = ends[at] ?? 0;
    } else {
      const { forbidden } = part;
      let open = 0;
      for (let at = 0; at <= length; at++) {
        if (open === 1 && forbidden !== '' && forbidden.includes(uri.charAt(at - 1))) open = 0;
        open |= ends[at] ?? 0;
        next[at] = open;
      }
    }
    if (!next.includes(1)) return false;
    ends = next;
  }
  return ends[length] === 1;
}
