import type { ServerConfig } from '#config';
import { type Log, messageOf } from '#core';
import type { Started } from './handshake/start.ts';
import { resumableAnswer } from './handshake/handshake.ts';
import type { Kept } from './listing/kept-listing.ts';
import type { Listing } from './listing/listing.ts';
import type { Launches, Own } from './server-types.ts';

export type PersistedState = ReturnType<typeof createPersistedState>;

/**
 * Saves the listing and the handle of a server for the next run. Instances of sessions and eras (`own`) have neither.
 */
export function createPersistedState(
  config: () => ServerConfig,
  { adoption, keptListings, ...launches }: Launches,
  log: Log,
  own: Own | undefined,
) {
  const { name } = config();
  /** Incremented when the current instance changes. */
  let turn = 0;
  let hasStarted = false;
  let writing: Promise<void> | undefined;

  /** Returns the digest of the launch; undefined if nothing is persisted, or the config cannot be launched. */
  function digest(): string | undefined {
    if (own) return undefined;
    try {
      return launches.digestOf?.(config());
    } catch {
      return undefined; // The launch reports why the config cannot be launched.
    }
  }

  /**
   * Saves the handle of an instance, unless another instance is current by the time the handle is known. Never rejects.
   */
  async function saveHandle({ running, variant }: Started): Promise<void> {
    if (!adoption) return;
    const { instance, serverInfo } = running;
    const now = turn;
    const started = config();
    try {
      await adoption.handles.forget(name);
      const launched = adoption.digestOf(started);
      if (!instance.handle || launched === undefined) return;
      const found = await instance.handle();
      if (turn !== now) return;
      await adoption.handles.keep(name, {
        digest: launched,
        instance: found,
        initializeAnswer: resumableAnswer(serverInfo),
        generation: 0,
        variant,
      });
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'the server will not outlive the hub');
    }
  }

  return {
    /** Returns the listing of an earlier run; undefined if there is none, or the launch has changed. */
    async recall(): Promise<Kept | undefined> {
      const known = digest();
      return known === undefined ? undefined : await keptListings?.find(name, known);
    },
    /**
     * True if the listing was read from another program, such as an earlier build of the image. False if unknown. Never
     * rejects.
     */
    async isOutdated({ identity }: Kept): Promise<boolean> {
      if (identity === undefined) return false;
      try {
        const found = await launches.identityOf?.(config());
        return !hasStarted && found !== undefined && found !== identity;
      } catch {
        return false; // The program is unknown while the engine is unreachable.
      }
    },
    keep(listing: Listing, identity: string | undefined): void {
      const known = digest();
      if (known !== undefined) writing = keptListings?.keep(name, known, listing, identity);
    },
    onStarted(started: Started): void {
      turn++;
      hasStarted = true;
      if (!own && !started.isAdopted) void saveHandle(started);
    },
    /** Drops the handle, so that the next run adopts no instance. */
    forgetHandle: async (): Promise<void> => {
      turn++;
      if (!own) await adoption?.handles.forget(name);
    },
    /** Resolves when the last listing is written, or cannot be. */
    async written(): Promise<void> {
      await writing;
    },
  };
}
