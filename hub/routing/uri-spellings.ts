/** Longer URIs are compared as they stand only. */
const maxLength = 8_192;

/**
 * The ways to write a URI that a server may take for the same resource: as given, with dot segments resolved and the
 * scheme and host in lower case, and the same without percent-encoding.
 */
export function spellingsOf(uri: string): readonly string[] {
  if (uri.length > maxLength) return [uri];
  const decoded = decode(uri);
  return [...new Set([uri, normalize(uri), decoded, normalize(decoded)])];
}

const normalize = (uri: string): string => URL.parse(uri)?.href ?? uri;

function decode(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri; // Not percent-encoded text.
  }
}
