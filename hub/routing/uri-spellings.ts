import { HubError } from '#core';

/** Maximum length of a URI that a policy decides about, in characters. */
const maxLength = 65_536;
/** A server may decode a URI more than once. */
const maxDecodings = 3;

/** False for a URI that is too long for a policy to decide about. */
export const isComparable = (uri: string): boolean => uri.length <= maxLength;

/**
 * The ways to write a URI that a server may take for the same resource: as given, with dot segments resolved and the
 * scheme and host in lower case, and the same without percent-encoding. Throws HUB_REQUEST_INVALID for a longer URI,
 * which would be compared for too long.
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
    // Normalizing encodes characters such as spaces and umlauts, which rules name as they are.
    spellings.add(decoded).add(normal).add(decode(normal));
    decoded = decode(decoded);
  }
  return [...spellings];
}

const normalize = (uri: string): string => URL.parse(uri)?.href ?? uri;

/** Decodes every valid sequence: one that is invalid must not hide the others from the rules. */
const decode = (uri: string): string =>
  uri.replaceAll(/(?:%[0-9a-f]{2})+/gi, sequence =>
    Buffer.from(sequence.replaceAll('%', ''), 'hex').toString(),
  );
