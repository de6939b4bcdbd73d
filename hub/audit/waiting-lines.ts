import type { Position } from './chain.ts';
import { type Pages, type SealedPage, type WriteMembers, copyOf, createPages } from './pages.ts';

/** A line about the log itself. */
type LogNote = { readonly action: string; readonly details: object };

type Needs = {
  /** The members of a line about the log itself. */
  readonly membersOf: (note: LogNote) => Buffer;
  readonly maxFileBytes: () => number;
};

/** Bound for lines that wait, in pages of 256 KiB. Further lines are counted only. */
const maxPages = 16;
/** Bound for lines that wait until the folder can be opened. */
const maxUnchained = 4_096;

/**
 * The lines that wait to be written. They are chained once the end of the chain is known. Lines without room are counted,
 * and a line says how many before the next one.
 */
export function createWaitingLines({ membersOf, maxFileBytes }: Needs) {
  /** Undefined until the end of the chain is known. */
  let pages: Pages | undefined;
  let unchained: Buffer[] = [];
  /** Lines that are not in the log, and are not mentioned in it yet. */
  let lost = 0;

  const addTo = (chained: Pages, note: LogNote): boolean => chained.add(...copyOf(membersOf(note)));

  /** Returns false if there is no room. */
  function queue(write: WriteMembers, maxBytes: number): boolean {
    if (!pages) {
      if (unchained.length >= maxUnchained) return false;
      const members = Buffer.alloc(maxBytes);
      return unchained.push(members.subarray(0, write(members, 0))) > 0;
    }
    if (lost > 0) {
      if (!addTo(pages, { action: 'lines_lost', details: { lines: lost } })) return false;
      lost = 0;
    }
    return pages.add(write, maxBytes);
  }

  return {
    add(write: WriteMembers, maxBytes: number): void {
      if (!queue(write, maxBytes)) lost++;
    },
    /** Returns false if there is no room. */
    addNote: (note: LogNote): boolean => pages !== undefined && addTo(pages, note),
    /** Chains the lines to the last line in the files: the notes first, then those that wait. */
    continueFrom(end: Position, notes: readonly LogNote[]): void {
      pages = createPages(end, { maxPages, maxFileBytes });
      for (const note of notes) addTo(pages, note);
      for (const members of unchained) if (!pages.add(...copyOf(members))) lost++;
      unchained = [];
    },
    get isChained(): boolean {
      return pages !== undefined;
    },
    /** Whether a page waits that gets no more lines. */
    get hasFullPage(): boolean {
      return pages?.hasFullPage ?? false;
    },
    /** The oldest page, which gets no more lines. With `onlyFull`, not the newest one. */
    seal: (onlyFull = false): SealedPage | undefined => pages?.seal(onlyFull),
    /** Drops the oldest page, which was written. */
    drop: (): void => pages?.drop(),
    get lost(): number {
      return lost;
    },
    /** Number of lines that are not in the files, with those that were lost. */
    get unwritten(): number {
      return (pages?.lines ?? 0) + unchained.length + lost;
    },
  };
}
