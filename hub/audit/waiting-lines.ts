import type { Position } from './chain.ts';
import { type Pages, type SealedPage, type WriteMembers, copyOf, createPages } from './pages.ts';

/** A line about the log itself. */
type LogNote = { readonly action: string; readonly details: object };

type Needs = {
  /** Returns the JSON members of a line about the log itself. */
  readonly membersOf: (note: LogNote) => Buffer;
  readonly maxFileBytes: () => number;
};

/** Maximum number of pages of 256 KiB with waiting lines. Further lines are only counted as lost. */
const maxPages = 16;
/** Maximum number of lines that wait until the folder can be opened. */
const maxUnchained = 4_096;

/**
 * Creates the queue of lines to be written. They are chained once the end of the log is known. Lines that do not fit
 * are counted, and a line with their number precedes the next line.
 */
export function createWaitingLines({ membersOf, maxFileBytes }: Needs) {
  /** Undefined until the end of the log is known. */
  let pages: Pages | undefined;
  let unchained: Buffer[] = [];
  /** Number of lost lines that no line in the log reports yet. */
  let lost = 0;

  const addTo = (chained: Pages, note: LogNote): boolean => chained.add(...copyOf(membersOf(note)));

  /** Adds a line to the queue. Returns false if the queue is full. */
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
    /** Adds a line about the log itself. Returns false if the queue is full. */
    addNote: (note: LogNote): boolean => pages !== undefined && addTo(pages, note),
    /** Chains lines to the end of the log: the notes first, then the waiting lines. */
    continueFrom(end: Position, notes: readonly LogNote[]): void {
      pages = createPages(end, { maxPages, maxFileBytes });
      for (const note of notes) addTo(pages, note);
      for (const members of unchained) if (!pages.add(...copyOf(members))) lost++;
      unchained = [];
    },
    get isChained(): boolean {
      return pages !== undefined;
    },
    /** True if a full page waits to be written. */
    get hasFullPage(): boolean {
      return pages?.hasFullPage ?? false;
    },
    /** Closes and returns the oldest page; undefined if there is none. With `onlyFull`, not the newest page. */
    seal: (onlyFull = false): SealedPage | undefined => pages?.seal(onlyFull),
    /** Removes the oldest page, which has been written. */
    drop: (): void => pages?.drop(),
    get lost(): number {
      return lost;
    },
    /** Number of lines that are not in the files, including lost lines. */
    get unwritten(): number {
      return (pages?.lines ?? 0) + unchained.length + lost;
    },
  };
}
