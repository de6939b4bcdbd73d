import { HubError } from '#core';

/** Maximum length of a URI for which a policy can decide, in characters. */
const maxLength = 65_536;
/** Maximum number of times that a URI is percent-decoded. A server may decode more than once. */
const maxDecodings = 3;

/** False for a URI that is too long for a policy decision. */
export const isComparable = (uri: string): boolean => uri.length <= maxLength;

/**
 * Returns the ways to write a URI that a server may read as the same resource: unchanged, with dot segments resolved
 * and the scheme and host in lower case, and each without percent-encoding. Throws HUB_REQUEST_INVALID for a URI that
 * is too long to compare.
 */
export function spellingsOf(uri: string): readonly string[] {
  if (!isComparable(uri))
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `the URI has ${uri.length} characters, and the policy compares at most ${maxLength}`,
    );
  const spellings = new Set<string>();
  let decoded = uri;
  for (let times = 0; times <= maxDecodings; times++) {
    const normal = normalize(decoded);
    // Normalizing percent-encodes characters such as spaces and umlauts, which rules contain unencoded.
    spellings.add(decoded).add(normal).add(decode(normal));
    decoded = decode(decoded);
  }
  return [...spellings];
}

const normalize = (uri: string): string => URL.parse(uri)?.href ?? uri;

/** Decodes every valid percent-encoded sequence: an invalid one must not hide the others from the rules. */
const decode = (uri: string): string =>
  uri.replaceAll(/(?:%[0-9a-f]{2})+/gi, sequence =>
    Buffer.from(sequence.replaceAll('%', ''), 'hex').toString(),
  );
