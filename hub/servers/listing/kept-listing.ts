import { isObject } from '#core';
import type { Folder } from '#store';
import { type Item, type Listing, listKinds } from './listing.ts';

/** What is kept of a server. */
export type Kept = {
  readonly listing: Listing;
  /** By which its program was known, such as the id of its image; undefined where nothing told. */
  readonly identity: string | undefined;
};

/** What servers offered when they last ran, so that clients see it before they run again. */
export interface KeptListings {
  /** Undefined where nothing is kept that this digest is of. */
  find(server: string, digest: string): Promise<Kept | undefined>;
  /** Resolves when it is written, or will not be. `identity` is that of the program that offered it. */
  keep(server: string, digest: string, listing: Listing, identity?: string): Promise<void>;
  forget(server: string): Promise<void>;
}

/** A server with more to offer is asked again at each start of the hub. In bytes, of all its lists. */
const maxKeptBytes = 8 * 2 ** 20;

/** Listings in a folder. `digest` is that of what a server is launched from. */
export function createKeptListings(folder: Folder): KeptListings {
  return {
    async find(server, digest) {
      const text = await folder.read(server);
      return text === undefined ? undefined : readListing(text, digest);
    },
    async keep(server, digest, listing, identity) {
      const lists = listKinds.map(kind => [kind, listing[kind].map(written)] as const);
      const bytes = listKinds.reduce(
        (sum, kind) => sum + listing[kind].reduce((all, item) => all + item.bytes.length, 0),
        0,
      );
      if (bytes > maxKeptBytes) return await folder.remove(server);
      await folder.write(
        server,
        JSON.stringify({ digest, identity, ...Object.fromEntries(lists) }),
      );
    },
    forget: server => folder.remove(server),
  };
}

/** As text, since a description is not always written as JSON would be printed here. */
const written = ({ key, bytes, legacyBytes }: Item) => ({
  key,
  text: bytes.toString(),
  legacy: legacyBytes?.toString(),
});

function readListing(text: string, digest: string): Kept | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value['digest'] !== digest) return undefined;
  const { identity, tool, resource, template, prompt } = value;
  const listing = {
    tool: readItems(tool),
    resource: readItems(resource),
    template: readItems(template),
    prompt: readItems(prompt),
  };
  return { listing, identity: typeof identity === 'string' ? identity : undefined };
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
