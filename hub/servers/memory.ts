import type { ServerConfig } from '#config';
import type { Listing } from './listing.ts';
import type { Own, ServerNeeds } from './server.ts';

/** What of a server is kept beyond the run of the hub. */
export interface Memory {
  /** What it offered when it last ran; undefined where that is not known, or it is launched otherwise now. */
  recall(): Promise<Listing | undefined>;
  /** So that clients of the next run of the hub see what it offers before it runs. */
  keep(listing: Listing): void;
  /** Resolves when nothing is waited for that could be gone on with. */
  forget(): Promise<void>;
}

/** That of one server; the instance of a session has none. */
export function createMemory(
  config: () => ServerConfig,
  needs: Pick<ServerNeeds, 'continuity' | 'digestOf' | 'keptListings'>,
  own: Own | undefined,
): Memory {
  const { name } = config();
  const { continuity, keptListings } = needs;

  /** Undefined where nothing of it outlives the hub, or it cannot be launched at all. */
  function digest(): string | undefined {
    if (own) return undefined;
    try {
      return needs.digestOf?.(config());
    } catch {
      return undefined;
    }
  }

  return {
    async recall() {
      const known = digest();
      return known === undefined ? undefined : await keptListings?.find(name, known);
    },
    keep(listing) {
      const known = digest();
      if (known !== undefined) void keptListings?.keep(name, known, listing);
    },
    async forget() {
      if (!own) await continuity?.handles.forget(name);
    },
  };
}
