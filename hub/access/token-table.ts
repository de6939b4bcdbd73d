import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Principal } from '#policy';

/** A token that the hub knows. */
export type KnownToken = {
  /** The client whose token it is or was. */
  readonly name: string;
  /** Undefined: the token was revoked. */
  readonly principal: Principal | undefined;
};

export type TokenTable = NonNullable<ReturnType<typeof createTokenTable>>;

type TokenOwner = {
  readonly name: string;
  /** SHA-256 in hex; undefined if the client has no token. */
  readonly digest: string | undefined;
  readonly principal: Principal;
};

/** Finds tokens by their digests. Undefined if there are none, so that a hub without clients looks nothing up. */
export function createTokenTable(
  owners: readonly TokenOwner[],
  revoked: readonly { readonly name: string; readonly digest: string }[],
) {
  const known = new Map<string, KnownToken & { readonly digest: Buffer }>();
  const add = (hex: string, token: KnownToken) => {
    const digest = Buffer.from(hex, 'hex');
    known.set(keyOf(digest), { ...token, digest });
  };
  for (const { name, digest } of revoked) add(digest, { name, principal: undefined });
  // A token that was revoked may be valid again.
  for (const { name, digest, principal } of owners)
    if (digest !== undefined) add(digest, { name, principal });
  if (known.size === 0) return undefined;
  /** What was found for the digest of a connection, which all its requests share. Digests are never changed. */
  const foundBefore = new WeakMap<Buffer, KnownToken>();
  return {
    /** The time depends on the digest only, of which a token reveals nothing. */
    find(digest: Buffer): KnownToken | undefined {
      const before = foundBefore.get(digest);
      if (before) return before;
      const found = known.get(keyOf(digest));
      if (!found || !timingSafeEqual(found.digest, digest)) return undefined;
      foundBefore.set(digest, found);
      return found;
    },
  };
}

/** Digest of a token. */
export const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** A new token, and its digest in hex. */
export function createToken(): { readonly token: string; readonly digest: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, digest: digestOf(token).toString('hex') };
}

/** One character for each byte. */
const keyOf = (digest: Buffer): string => digest.toString('latin1');
