import type { ServerConfig } from '#config';
import type { Log } from '#core';
import { writeDown } from './adoption/adoption.ts';
import type { Kept } from './listing/kept-listing.ts';
import type { Listing } from './listing/listing.ts';
import type { Own, ServerNeeds } from './server-types.ts';
import type { Started } from './handshake/start.ts';

/** What of a server is kept beyond the run of the hub. */
export interface Memory {
  /** What it offered when it last ran; undefined where that is not known, or it is launched otherwise now. */
  recall(): Promise<Kept | undefined>;
  /**
   * Whether what is kept is of another program than would be launched now, such as an image that has been
   * built anew under its name; false where nothing tells. Never rejects.
   */
  isOutdated(kept: Kept): Promise<boolean>;
  /** So that clients of the next run of the hub see what it offers before it runs. */
  keep(listing: Listing, identity: string | undefined): void;
  /** From here on the next run of the hub may go on with this instance, and with no other. */
  began(started: Started): void;
  /** Resolves when nothing is waited for that could be gone on with. */
  forget(): Promise<void>;
  /** Resolves when what it offers is written, or will not be. */
  written(): Promise<void>;
}

type Needs = Pick<ServerNeeds, 'continuity' | 'digestOf' | 'identityOf' | 'keptListings'> & {
  readonly log: Log;
};

/** That of one server; the instance of a session has none. */
export function createMemory(
  config: () => ServerConfig,
  needs: Needs,
  own: Own | undefined,
): Memory {
  const { name } = config();
  const { continuity, keptListings } = needs;
  /** Grows whenever another instance runs, or none. */
  let turn = 0;
  let writing: Promise<void> | undefined;

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
    async isOutdated({ identity }) {
      if (identity === undefined) return false;
      try {
        const found = await needs.identityOf?.(config());
        return found !== undefined && found !== identity;
      } catch {
        // What is launched is not known before the engine is there.
        return false;
      }
    },
    keep(listing, identity) {
      const known = digest();
      if (known !== undefined) writing = keptListings?.keep(name, known, listing, identity);
    },
    began(started) {
      const now = ++turn;
      if (!continuity || own || started.isTakenBack) return;
      const { instance, introduction } = started.running;
      const isCurrent = () => turn === now;
      void writeDown(
        config(),
        instance,
        introduction,
        started.variant,
        continuity,
        isCurrent,
        needs.log,
      );
    },
    async forget() {
      turn++;
      if (!own) await continuity?.handles.forget(name);
    },
    async written() {
      await writing;
    },
  };
}
