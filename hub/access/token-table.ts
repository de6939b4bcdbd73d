import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Principal } from '#policy';

/** A token that the hub knows. */
export type KnownToken = {
  /** The client whose token it is or was. */
  readonly name: string;
  /** Undefined: the token was revoked. */
  readonly principal: Principal | undefined;
};

/**
 * A token that a request presents. It depends on the head of the request alone, so the requests of a connection share one.
 * What was found for it is valid in that table only: a change of tokens makes another table.
 */
export type PresentedToken = {
  /** SHA-256 of the token. Never changed. */
  readonly digest: Buffer;
  found?: { readonly table: object; readonly token: KnownToken };
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
  const table = {
    /** The time depends on the digest only, of which a token reveals nothing. */
    find(presented: PresentedToken): KnownToken | undefined {
      const { digest, found } = presented;
      if (found?.table === table) return found.token;
      const token = known.get(keyOf(digest));
      if (!token || !timingSafeEqual(token.digest, digest)) return undefined;
      presented.found = { table, token };
      return token;
    },
  };
  return table;
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
