import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Principal } from '#policy';

/** A valid or revoked token. */
export type KnownToken = {
  /** Name of the client that has or had the token. */
  readonly name: string;
  /** Undefined if the token was revoked. */
  readonly principal: Principal | undefined;
};

/**
 * A token that a request presents. Requests of a connection with equal heads share one object. `found` caches the
 * look-up in one table: a change of tokens creates another table.
 */
export type PresentedToken = {
  /** SHA-256 of the token. Immutable. */
  readonly digest: Buffer;
  found?: { readonly table: object; readonly token: KnownToken };
};

export type TokenTable = NonNullable<ReturnType<typeof createTokenTable>>;

type TokenOwner = {
  readonly name: string;
  /** SHA-256 of the token in hex; undefined if the client has no token. */
  readonly digest: string | undefined;
  readonly principal: Principal;
};

/** Creates a table that finds tokens by digest; undefined without tokens, so that calls skip the look-up. */
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
  // Valid tokens override revoked ones: a revoked token may be valid again.
  for (const { name, digest, principal } of owners)
    if (digest !== undefined) add(digest, { name, principal });
  if (known.size === 0) return undefined;
  const table = {
    /** Finds a token by its digest. The time of the look-up reveals nothing about the token, only about its digest. */
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

/** SHA-256 of a token. */
export const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Creates a random token, and returns it with its SHA-256 in hex. */
export function createToken(): { readonly token: string; readonly digest: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, digest: digestOf(token).toString('hex') };
}

/** Key for maps: the digest as a string with one character per byte. */
const keyOf = (digest: Buffer): string => digest.toString('latin1');
