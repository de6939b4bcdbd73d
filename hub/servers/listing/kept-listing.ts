import { isObject, tryParseJson } from '#core';
import type { Folder } from '#store';
import { type Item, type Listing, byKind, listKinds } from './listing.ts';

export type Kept = {
  readonly listing: Listing;
  /** Identity of the server's program, such as the image id; undefined if unknown. */
  readonly identity: string | undefined;
};

/** Listings saved for the next run of the hub, so that clients see them before the servers run. */
export type KeptListings = ReturnType<typeof createKeptListings>;

/** Maximum size of a saved listing, in bytes. */
const maxKeptBytes = 8 * 2 ** 20;

/** Saves listings in a folder. `digest` identifies what the server is launched from. */
export function createKeptListings(folder: Folder) {
  return {
    /** Returns the saved listing of a server; undefined if there is none for this digest. */
    async find(server: string, digest: string): Promise<Kept | undefined> {
      const text = await folder.read(server);
      return text === undefined ? undefined : readListing(text, digest);
    },
    /** Resolves when the listing is written, or cannot be. `identity` is the identity of the server's program. */
    async keep(server: string, digest: string, listing: Listing, identity?: string): Promise<void> {
      const items = listKinds.flatMap(kind => listing[kind]);
      const bytes = items.reduce((sum, item) => sum + item.bytes.length, 0);
      if (bytes > maxKeptBytes) return await folder.remove(server);
      const lists = byKind(kind => listing[kind].map(written));
      await folder.write(server, JSON.stringify({ digest, identity, ...lists }));
    },
    forget: (server: string): Promise<void> => folder.remove(server),
  };
}

/** Returns an item as text, which preserves the bytes of its definition. */
const written = ({ key, bytes, legacyBytes }: Item) => ({
  key,
  text: bytes.toString(),
  legacy: legacyBytes?.toString(),
});

function readListing(text: string, digest: string): Kept | undefined {
  const value = tryParseJson(text);
  if (!isObject(value) || value['digest'] !== digest) return undefined;
  const { identity } = value;
  return {
    listing: byKind(kind => readItems(value[kind])),
    identity: typeof identity === 'string' ? identity : undefined,
  };
}

function readItems(value: unknown): readonly Item[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (!isObject(item)) return [];
    const { key, text, legacy } = item;
    if (typeof key !== 'string' || typeof text !== 'string') return [];
    const legacyBytes = typeof legacy === 'string' && { legacyBytes: Buffer.from(legacy) };
    return [{ key, bytes: Buffer.from(text), ...legacyBytes }];
  });
}
