import { type Clock, type Log, isObject, messageOf } from '#core';
import type { Notification } from '#jsonrpc';
import type { Era } from '#mcp';
import type { Asking } from '../handshake/handshake.ts';
import { type ListKind, type Reading, listKinds, listMethods, readList } from './listing.ts';

/** Reads lists again, of which a server says that they changed or which may have. */
export type Rereads = {
  /** True where the notification was that a list changed. */
  hear(notification: Notification): boolean;
  /** The first lists have been read: those that changed meanwhile are read again. */
  begin(): void;
  /** The server may not have been heard for a while: all lists are read again of which it tells changes. */
  doubt(): void;
  /** Reads a list now, or waits where that is being done. Never rejects. */
  refresh(kind: ListKind): Promise<void>;
};

const kindsOf: ReadonlyMap<string, readonly ListKind[]> = new Map([
  ['notifications/tools/list_changed', ['tool']],
  ['notifications/prompts/list_changed', ['prompt']],
  ['notifications/resources/list_changed', ['resource', 'template']],
]);

/** True for what tells that a list changed. */
export const isListChange = (method: string): boolean => kindsOf.has(method);

export type RereadsOptions = {
  readonly server: string;
  readonly timeoutMs: number;
  readonly era?: Era;
  readonly capabilities: { readonly [name: string]: unknown };
};

export type RereadsNeeds = {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Log;
  /** False once the server is gone: nothing is read then, and nothing replaced. */
  readonly isCurrent: () => boolean;
  /** `isAnnounced`: the server said that the list changed, which clients are told even where it did not. */
  readonly replace: (kind: ListKind, reading: Reading, isAnnounced: boolean) => void;
  /** The server said that a list changed which could not be read. */
  readonly announce: (kind: ListKind) => void;
};

/**
 * From the start of one reading of a list to that of the next. Some servers announce a change whenever
 * their list is read, and would otherwise be read without end.
 */
const spacingMs = 1_000;

/** The rereads of one session with a server: at once for a first change, once for all that follow. */
export function createRereads(
  options: RereadsOptions,
  asking: Pick<Asking, 'request'>,
  needs: RereadsNeeds,
): Rereads {
  const { log } = needs;
  const { server, timeoutMs, capabilities, era = 'legacy' } = options;
  /** Changes before the lists were read: which of the lists are older cannot be told. */
  let early: Set<ListKind> | undefined = new Set();
  const under = new Map<ListKind, 'read' | 'changed again'>();
  const readings = new Map<ListKind, Promise<void>>();
  const beingRead = new Set<ListKind>();
  /** Changes that clients are told of when the list has been read again, equal or not. */
  const announced = new Set<ListKind>();

  /** One reading. Of those that change while it lasts it may have seen the old or the new. */
  function read(kind: ListKind): Promise<void> {
    const isAnnounced = announced.delete(kind);
    beingRead.add(kind);
    const reading = readList(server, asking, kind, timeoutMs, { ...needs, era })
      .then(
        found => {
          if (needs.isCurrent()) needs.replace(kind, found, isAnnounced);
        },
        (error: unknown) => {
          log.warn({ list: kind, error: messageOf(error) }, 'a changed list could not be read');
          if (isAnnounced && needs.isCurrent()) needs.announce(kind);
        },
      )
      .finally(() => {
        readings.delete(kind);
        beingRead.delete(kind);
      });
    readings.set(kind, reading);
    return reading;
  }

  async function reread(kind: ListKind): Promise<void> {
    do {
      under.set(kind, 'read');
      // One that is under way may have begun before the change.
      const earlier = readings.get(kind);
      if (earlier) await earlier;
      if (!needs.isCurrent()) break;
      const spaced = Promise.withResolvers<void>();
      needs.clock.after(spacingMs, spaced.resolve);
      await read(kind);
      await spaced.promise;
    } while (under.get(kind) === 'changed again' && needs.isCurrent());
    under.delete(kind);
  }

  function changed(kind: ListKind): void {
    if (early) early.add(kind);
    else if (under.has(kind)) under.set(kind, 'changed again');
    else if (needs.isCurrent()) void reread(kind);
  }

  /**
   * Notes that clients are told of this change. One that comes while the hub reads the list is not noted: some
   * servers announce a change whenever their list is read. It is told where the list has changed.
   */
  function noteAnnounced(kind: ListKind): void {
    // Resources and templates share one notification: their clients are told once.
    if (kind !== 'template' && !early && !beingRead.has(kind)) announced.add(kind);
  }

  const offered = (kind: ListKind) => capabilities[listMethods[kind].capability];

  return {
    hear({ method }) {
      const kinds = kindsOf.get(method);
      for (const kind of kinds ?? []) {
        noteAnnounced(kind);
        changed(kind);
      }
      return kinds !== undefined;
    },
    begin() {
      const kinds = early ?? [];
      early = undefined;
      for (const kind of kinds) changed(kind);
    },
    doubt() {
      for (const kind of listKinds) {
        const capability = offered(kind);
        if (isObject(capability) && capability['listChanged'] === true) changed(kind);
      }
    },
    async refresh(kind) {
      if (isObject(offered(kind)) && needs.isCurrent()) await (readings.get(kind) ?? read(kind));
    },
  };
}
