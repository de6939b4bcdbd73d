import { type Clock, isObject, messageOf } from '#core';
import type { Notification } from '#jsonrpc';
import {
  type ListKind,
  type ListReader,
  type Reading,
  listKinds,
  listMethods,
  readList,
} from './listing.ts';

const kindsOf: ReadonlyMap<string, readonly ListKind[]> = new Map([
  ['notifications/tools/list_changed', ['tool']],
  ['notifications/prompts/list_changed', ['prompt']],
  ['notifications/resources/list_changed', ['resource', 'template']],
]);

export const isListChange = (method: string): boolean => kindsOf.has(method);

export type RereadsNeeds = {
  /** False once the instance has ended: no list is read or replaced after that. */
  readonly isCurrent: () => boolean;
  /**
   * Replaces a list. `isAnnounced`: the server sent `list_changed`, which is forwarded even if the list is the same.
   */
  readonly replace: (kind: ListKind, reading: Reading, isAnnounced: boolean) => void;
  /** Called when the server sent `list_changed` and the list could not be read. */
  readonly announce: (kind: ListKind) => void;
};

/** Minimum interval between two readings, in ms: some servers send `list_changed` whenever a list is read. */
const spacingMs = 1_000;
/**
 * Minimum interval between two readings, relative to the time that the hub took to process the last one, up to
 * `maxSpacingMs`: a server that changes a long list all the time must not occupy the hub.
 */
const spacingFactor = 20;
const maxSpacingMs = 5 * 60_000;

/**
 * Rereads the lists of a session after changes: at once for the first change, and once for all changes during a
 * reading.
 */
export function createRereads(
  capabilities: { readonly [name: string]: unknown },
  reader: ListReader & { readonly clock: Pick<Clock, 'after'> },
  needs: RereadsNeeds,
) {
  const { clock, log } = reader;
  /** Lists that changed during the first reading, which may have returned the old or the new list. */
  let early: Set<ListKind> | undefined = new Set();
  const under = new Map<ListKind, 'read' | 'changed again'>();
  const readings = new Map<ListKind, Promise<void>>();
  /** Time in ms that the hub took to process the last reading. */
  const processedMs = new Map<ListKind, number>();
  const beingRead = new Set<ListKind>();
  /** Lists whose `list_changed` is forwarded after the next reading, even if the list is the same. */
  const announced = new Set<ListKind>();

  /** Reads a list once. If the list changes meanwhile, the result may be the old or the new list. */
  function read(kind: ListKind): Promise<void> {
    const isAnnounced = announced.delete(kind);
    beingRead.add(kind);
    const reading = readList(kind, reader)
      .then(
        found => {
          const since = clock.monotonic();
          if (needs.isCurrent()) needs.replace(kind, found, isAnnounced);
          processedMs.set(kind, clock.monotonic() - since);
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

  const wait = (delayMs: number) =>
    new Promise<void>(resolve => void clock.after(delayMs, resolve));

  async function reread(kind: ListKind): Promise<void> {
    do {
      under.set(kind, 'read');
      // A reading that is running may have begun before the change.
      const earlier = readings.get(kind);
      if (earlier) await earlier;
      if (!needs.isCurrent()) break;
      const spaced = wait(spacingMs);
      await read(kind);
      await spaced;
      const restMs = spacingFactor * (processedMs.get(kind) ?? 0) - spacingMs;
      if (restMs > 0) await wait(Math.min(restMs, maxSpacingMs));
    } while (under.get(kind) === 'changed again' && needs.isCurrent());
    under.delete(kind);
  }

  function changed(kind: ListKind): void {
    if (early) early.add(kind);
    else if (under.has(kind)) under.set(kind, 'changed again');
    else if (needs.isCurrent()) void reread(kind);
  }

  /**
   * Records a `list_changed` to forward. It is not recorded during a reading, since some servers send it whenever the
   * list is read; in that case it is forwarded if the list differs.
   */
  function noteAnnounced(kind: ListKind): void {
    // Resources and templates share one notification, which is forwarded once.
    if (kind !== 'template' && !early && !beingRead.has(kind)) announced.add(kind);
  }

  const offered = (kind: ListKind) => capabilities[listMethods[kind].capability];

  return {
    hear({ method }: Notification): boolean {
      const kinds = kindsOf.get(method);
      for (const kind of kinds ?? []) {
        noteAnnounced(kind);
        changed(kind);
      }
      return kinds !== undefined;
    },
    /** Rereads the lists that changed during the first reading. Call it after that reading. */
    begin(): void {
      const kinds = early ?? [];
      early = undefined;
      for (const kind of kinds) changed(kind);
    },
    /** Call when notifications may have been missed: rereads all lists that have `listChanged`. */
    doubt(): void {
      for (const kind of listKinds) {
        const capability = offered(kind);
        if (isObject(capability) && capability['listChanged'] === true) changed(kind);
      }
    },
    /** Reads a list now, or waits for the reading that is running. Never rejects. */
    async refresh(kind: ListKind): Promise<void> {
      if (isObject(offered(kind)) && needs.isCurrent()) await (readings.get(kind) ?? read(kind));
    },
  };
}
